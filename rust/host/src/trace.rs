//! Dynamo's in-process request trace: one record per finished request, in bounded memory.

use std::sync::Arc;

use dynamo_llm::request_trace::{
    self, RequestTraceEventType, RequestTraceMetrics, RequestTraceRecord,
};
use parking_lot::Mutex;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::TryRecvError;

/// What came of one request. Absent facts are `None`; times are in seconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FinishedRequest {
    /// Dynamo's request id.
    pub request_id: String,
    /// Model that was asked for.
    pub model: Option<String>,
    /// When the request came in, in seconds since the UNIX epoch.
    pub received_at: Option<f64>,
    /// When it ended, in seconds since the UNIX epoch.
    pub finished_at: f64,
    /// Worker that prefilled it.
    pub prefill_worker_id: Option<u64>,
    /// Data-parallel rank of that worker.
    pub prefill_dp_rank: Option<u32>,
    /// Worker that decoded it.
    pub decode_worker_id: Option<u64>,
    /// Data-parallel rank of that worker.
    pub decode_dp_rank: Option<u32>,
    /// Time to the first token.
    pub ttft_seconds: Option<f64>,
    /// Time to the last token.
    pub total_seconds: Option<f64>,
    /// Mean time between two tokens.
    pub mean_itl_seconds: Option<f64>,
    /// Time it waited for prefill.
    pub prefill_wait_seconds: Option<f64>,
    /// Time it was prefilled.
    pub prefill_seconds: Option<f64>,
    /// Prompt length in tokens.
    pub input_tokens: Option<u64>,
    /// Prompt tokens that were cached.
    pub cached_tokens: Option<u64>,
    /// Answer length in tokens.
    pub output_tokens: Option<u64>,
    /// Cached share of the prompt, by the router's estimate.
    pub kv_hit_rate: Option<f64>,
    /// Requests that waited in the router's queue when it was routed.
    pub queue_depth: Option<u64>,
    /// Chained hashes of the prompt's blocks, for a replay; the last block may not be full.
    pub sequence_hashes: Vec<u64>,
    /// Tokens of such a block.
    pub block_tokens: Option<u64>,
}

/// What [`RequestTrace::drain`] found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Traced {
    /// Requests that finished since the last drain, oldest first.
    pub requests: Vec<FinishedRequest>,
    /// Records that were lost because drains came too slowly.
    pub lagged: u64,
}

/// The frontend's request trace. It is on when Dynamo's request-trace policy is
/// (`DYN_REQUEST_TRACE`), and holds as many records as `DYN_REQUEST_TRACE_CAPACITY` says.
#[derive(Clone, Default)]
pub struct RequestTrace(Arc<Mutex<Option<Receiver<RequestTraceRecord>>>>);

impl RequestTrace {
    /// Begin to listen. Dynamo's bus exists once a frontend has started, and panics before.
    pub(crate) fn subscribe(&self) {
        if request_trace::is_enabled() {
            *self.0.lock() = Some(request_trace::subscribe());
        }
    }

    /// Take the records of requests that finished since the last drain. Never waits.
    pub fn drain(&self) -> Traced {
        let mut traced = Traced::default();
        let mut receiver = self.0.lock();
        let Some(receiver) = receiver.as_mut() else {
            return traced;
        };
        loop {
            match receiver.try_recv() {
                Ok(record) => traced.requests.extend(finished(record)),
                Err(TryRecvError::Lagged(lost)) => traced.lagged += lost,
                Err(TryRecvError::Empty | TryRecvError::Closed) => return traced,
            }
        }
    }
}

fn finished(record: RequestTraceRecord) -> Option<FinishedRequest> {
    if record.event_type != RequestTraceEventType::RequestEnd {
        return None;
    }
    let finished_at = seconds(record.event_time_unix_ms as f64);
    record
        .request
        .map(|request| of_metrics(request, finished_at))
}

fn of_metrics(request: RequestTraceMetrics, finished_at: f64) -> FinishedRequest {
    let worker = request.worker.as_ref();
    let replay = request.replay.as_ref();
    FinishedRequest {
        block_tokens: replay.map(|replay| replay.trace_block_size as u64),
        received_at: request.request_received_ms.map(|at| seconds(at as f64)),
        finished_at,
        prefill_worker_id: worker.and_then(|worker| worker.prefill_worker_id),
        prefill_dp_rank: worker.and_then(|worker| worker.prefill_dp_rank),
        decode_worker_id: worker.and_then(|worker| worker.decode_worker_id),
        decode_dp_rank: worker.and_then(|worker| worker.decode_dp_rank),
        ttft_seconds: request.ttft_ms.map(seconds),
        total_seconds: request.total_time_ms.map(seconds),
        mean_itl_seconds: request.avg_itl_ms.map(seconds),
        prefill_wait_seconds: request.prefill_wait_time_ms.map(seconds),
        prefill_seconds: request.prefill_time_ms.map(seconds),
        input_tokens: request.input_tokens,
        cached_tokens: request.cached_tokens,
        output_tokens: request.output_tokens,
        kv_hit_rate: request.kv_hit_rate,
        queue_depth: request.queue_depth,
        sequence_hashes: request
            .replay
            .map(|replay| replay.input_sequence_hashes)
            .unwrap_or_default(),
        request_id: request.request_id,
        model: request.model,
    }
}

fn seconds(milliseconds: f64) -> f64 {
    milliseconds / 1e3
}
