//! Who watches a run, and what is shown.

use std::ops::ControlFlow;

use dynamo_kv_router::WorkerType;
use dynamo_regime_core::VersionedPolicy;
use dynamo_regime_policy::Pools;

/// Watches a run in virtual time. A controller lives here: it swaps policies through the same
/// handle on the plug-in that it has in a live router.
pub trait Observer {
    /// The end of a sample interval. What is swapped in `pools` holds for the next request.
    /// `Break` stops the run.
    fn sample(&mut self, _sample: &Sample<'_>, _pools: &Pools) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// Some requests more are finished. `Break` stops the run.
    fn progress(&mut self, _progress: Progress) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Nobody.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unobserved;

impl Observer for Unobserved {}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Requests that are finished.
    pub finished: usize,
    /// Virtual time, in seconds.
    pub time_seconds: f64,
}

/// The cluster at the end of a sample interval, and what happened within it.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample<'s> {
    /// Virtual time, in seconds.
    pub time_seconds: f64,
    /// Every pool's workers and policy: one pool, or prefill and decode.
    pub pools: Vec<PoolLoad>,
    /// Requests that arrived in the interval.
    pub arrived: usize,
    /// The requests whose prefill ended in the interval, in that order.
    pub first_tokens: &'s [FirstToken],
    /// The requests that finished in the interval, in that order.
    pub finished: &'s [Finished],
}

/// What a pool's routers know of their workers, summed over the replicas.
#[derive(Clone, Debug, PartialEq)]
pub struct PoolLoad {
    /// The role of the workers.
    pub pool: WorkerType,
    /// The present policy.
    pub policy: VersionedPolicy,
    /// The workers, by index.
    pub workers: Vec<WorkerLoad>,
}

/// The load of one worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkerLoad {
    /// Prompt tokens that are routed to the worker and not prefilled yet.
    pub prefill_tokens: usize,
    /// KV blocks that the requests on the worker hold.
    pub decode_blocks: usize,
    /// Requests on the worker.
    pub active_requests: usize,
}

/// The end of a request's prefill.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FirstToken {
    /// Index of the worker that prefilled it.
    pub worker: usize,
    /// When it came, in seconds of virtual time.
    pub time_seconds: f64,
    /// Time since the request arrived. Where prefill is disaggregated, the client sees the token
    /// one handoff and one decode pass later.
    pub ttft_seconds: f64,
    /// Time from the choice of the worker to the token, that in the worker's queue included.
    pub prefill_seconds: f64,
    /// Prompt tokens that were not in the worker's cache, by the router's estimate.
    pub uncached_tokens: usize,
}

/// The end of a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Finished {
    /// Index of the worker that finished it.
    pub worker: usize,
    /// Time from arrival to the end of the prefill.
    pub ttft_seconds: f64,
    /// Mean time between two output tokens; `None` with fewer than two.
    pub itl_seconds: Option<f64>,
    /// Time from arrival to the last token.
    pub latency_seconds: f64,
}
