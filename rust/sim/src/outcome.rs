//! What came of a run: a row for each finished request, and what they add up to.

use aisimulate_core::replay::{PerRequestRecord, ReplayReport, ReplayTerminalStatus};
use dynamo_kv_router::WorkerType;
use dynamo_regime_core::VersionedPolicy;
use dynamo_regime_policy::PoolPolicy;
use rustc_hash::FxHashMap;
use uuid::Uuid;

/// The result of one run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The finished requests.
    pub requests: Requests,
    /// What they add up to.
    pub summary: Summary,
    /// Every pool's policy at the start and after each swap, in order of time.
    pub policies: Vec<PolicyAt>,
    /// How long the run took by the wall clock, in seconds. The one thing here that is not the same
    /// every time.
    pub wall_seconds: f64,
}

/// Columns over the finished requests, in the order of their arrival. Times are virtual, in
/// seconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Requests {
    /// Place of the request in the workload, from 0.
    pub index: Vec<u64>,
    /// When the client sent it.
    pub arrival_seconds: Vec<f64>,
    /// Index of the worker that prefilled it.
    pub prefill_worker: Vec<u32>,
    /// Index of the worker that decoded it; the same worker in an aggregated cluster.
    pub decode_worker: Vec<u32>,
    /// From sending to the first token.
    pub ttft_seconds: Vec<f64>,
    /// Mean time between two tokens; `None` with fewer than two.
    pub itl_seconds: Vec<Option<f64>>,
    /// From sending to the last token.
    pub latency_seconds: Vec<f64>,
    /// Prompt tokens.
    pub input_tokens: Vec<u64>,
    /// Generated tokens.
    pub output_tokens: Vec<u64>,
    /// Prompt tokens that were found in the worker's cache.
    pub cached_tokens: Vec<u64>,
}

/// Aggregates over the finished requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// Requests that were sent.
    pub arrived: usize,
    /// Requests that got all their tokens.
    pub completed: usize,
    /// Requests that an engine refused, because they are too long for it.
    pub rejected: usize,
    /// Virtual time from the start to the last token.
    pub duration_seconds: f64,
    /// Completed requests per second of that time.
    pub requests_per_second: f64,
    /// Generated tokens per second of that time.
    pub output_tokens_per_second: f64,
    /// Share of the prompt tokens that were found in a cache; `None` if no request completed.
    pub cached_fraction: Option<f64>,
    /// Time to the first token; `None` if no request completed.
    pub ttft_seconds: Option<Distribution>,
    /// Mean time between two tokens, by request; `None` if no request had two.
    pub itl_seconds: Option<Distribution>,
    /// Time to the last token; `None` if no request completed.
    pub latency_seconds: Option<Distribution>,
}

/// A sample's mean and quantiles (linearly interpolated).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distribution {
    /// Arithmetic mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Largest value.
    pub max: f64,
}

/// A pool's policy from some time on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PolicyAt {
    /// Virtual time, in seconds.
    pub time_seconds: f64,
    /// The role of the pool.
    pub pool: WorkerType,
    /// The policy.
    pub policy: VersionedPolicy,
}

impl PolicyAt {
    pub(crate) fn new(time_seconds: f64, pool: &PoolPolicy) -> Self {
        Self {
            time_seconds,
            pool: pool.pool,
            policy: pool.policy,
        }
    }
}

impl Outcome {
    pub(crate) fn new(
        report: &ReplayReport,
        sent_late_ms: &FxHashMap<Uuid, f64>,
        policies: Vec<PolicyAt>,
    ) -> Self {
        let mut rows: Vec<Row<'_>> = report
            .per_request
            .iter()
            .filter_map(|record| Row::new(record, sent_late_ms))
            .collect();
        rows.sort_by(|left, right| {
            (left.arrival_ms.total_cmp(&right.arrival_ms)).then(left.index.cmp(&right.index))
        });
        let mut requests = Requests::default();
        rows.iter().for_each(|row| requests.push(row));
        let rejected = report
            .per_request
            .iter()
            .filter(|record| record.terminal_status == ReplayTerminalStatus::Rejected)
            .count();
        let summary = Summary::new(&requests, report, rejected);
        Self {
            requests,
            summary,
            policies,
            wall_seconds: report.throughput.wall_time_ms / 1e3,
        }
    }
}

/// A finished request.
struct Row<'r> {
    index: u64,
    arrival_ms: f64,
    first_token_ms: f64,
    last_token_ms: f64,
    record: &'r PerRequestRecord,
}

impl<'r> Row<'r> {
    fn new(record: &'r PerRequestRecord, sent_late_ms: &FxHashMap<Uuid, f64>) -> Option<Self> {
        if record.terminal_status != ReplayTerminalStatus::Completed {
            return None;
        }
        let id: Uuid = record.uuid.parse().ok()?;
        Some(Self {
            // The event loop numbers requests from 1.
            index: u64::try_from(id.as_u128()).ok()?.checked_sub(1)?,
            arrival_ms: sent_late_ms
                .get(&id)
                .copied()
                .unwrap_or(record.arrival_time_ms),
            first_token_ms: record.first_token_ms?,
            last_token_ms: record.last_token_ms?,
            record,
        })
    }
}

impl Requests {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    fn push(&mut self, row: &Row<'_>) {
        let record = row.record;
        let decode_worker = worker(record.decode_worker_idx);
        self.index.push(row.index);
        self.arrival_seconds.push(row.arrival_ms / 1e3);
        self.prefill_worker.push(
            record
                .prefill_worker_idx
                .map_or(decode_worker, |index| worker(Some(index))),
        );
        self.decode_worker.push(decode_worker);
        self.ttft_seconds
            .push((row.first_token_ms - row.arrival_ms) / 1e3);
        let gaps = record.output_length.saturating_sub(1);
        let decode_ms = row.last_token_ms - row.first_token_ms;
        self.itl_seconds
            .push((gaps > 0).then(|| decode_ms / gaps as f64 / 1e3));
        self.latency_seconds
            .push((row.last_token_ms - row.arrival_ms) / 1e3);
        self.input_tokens.push(record.input_length as u64);
        self.output_tokens.push(record.output_length as u64);
        self.cached_tokens.push(record.reused_input_tokens as u64);
    }
}

fn worker(index: Option<usize>) -> u32 {
    index
        .and_then(|index| u32::try_from(index).ok())
        .unwrap_or(u32::MAX)
}

impl Summary {
    fn new(requests: &Requests, report: &ReplayReport, rejected: usize) -> Self {
        let duration_seconds = requests
            .arrival_seconds
            .iter()
            .zip(&requests.latency_seconds)
            .map(|(arrival, latency)| arrival + latency)
            .fold(0.0, f64::max);
        let input_tokens: u64 = requests.input_tokens.iter().sum();
        let output_tokens: u64 = requests.output_tokens.iter().sum();
        let cached_tokens: u64 = requests.cached_tokens.iter().sum();
        // Nothing in no time is nothing.
        let per_second = |amount: f64| amount / duration_seconds.max(f64::MIN_POSITIVE);
        Self {
            arrived: report.per_request.len(),
            completed: requests.len(),
            rejected,
            duration_seconds,
            requests_per_second: per_second(requests.len() as f64),
            output_tokens_per_second: per_second(output_tokens as f64),
            cached_fraction: (input_tokens > 0).then(|| cached_tokens as f64 / input_tokens as f64),
            ttft_seconds: Distribution::of(requests.ttft_seconds.iter().copied()),
            itl_seconds: Distribution::of(requests.itl_seconds.iter().flatten().copied()),
            latency_seconds: Distribution::of(requests.latency_seconds.iter().copied()),
        }
    }
}

impl Distribution {
    /// `None` for an empty sample.
    pub fn of(values: impl Iterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = values.collect();
        sorted.sort_by(f64::total_cmp);
        let max = *sorted.last()?;
        Some(Self {
            mean: sorted.iter().sum::<f64>() / sorted.len() as f64,
            p50: quantile(&sorted, 0.5),
            p90: quantile(&sorted, 0.9),
            p99: quantile(&sorted, 0.99),
            max,
        })
    }
}

/// Of a sample that is not empty.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let position = share * (sorted.len() - 1) as f64;
    let below = sorted[position.floor() as usize];
    let above = sorted[position.ceil() as usize];
    below + (above - below) * position.fract()
}
