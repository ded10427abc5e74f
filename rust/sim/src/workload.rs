//! The requests of a run.

mod closed;
mod multi_turn;
mod trace;

use aisimulate_core::replay::ReplayRuntimeInput;

pub use closed::{ClosedLoop, Phase};
pub use multi_turn::MultiTurn;
pub use trace::{BadLine, Trace, TraceRequest};

use crate::config::{Cluster, Simulation};
use crate::error::SimulationError;

/// Where the requests come from.
#[derive(Clone, Debug)]
pub enum Workload {
    /// Requests with times and prompts of their own.
    Trace(Trace),
    /// Clients that send their next request when they have the answer to the last one.
    Closed(ClosedLoop),
}

impl Workload {
    pub(crate) fn validate(&self) -> Result<(), SimulationError> {
        match self {
            Self::Trace(trace) => trace.validate(),
            Self::Closed(closed) => closed.validate(),
        }
    }

    /// Most requests in flight that the event loop admits; `None` for an open loop.
    pub(crate) fn max_in_flight(&self) -> Option<usize> {
        match self {
            Self::Trace(trace) => trace.concurrency,
            Self::Closed(closed) => closed.phases.iter().map(|phase| phase.concurrency).max(),
        }
    }

    /// When the run ends, in milliseconds; `None` if it ends with its last request.
    pub(crate) fn end_ms(&self) -> Option<f64> {
        match self {
            Self::Trace(_) => None,
            Self::Closed(closed) => Some(closed.duration_seconds() * 1e3),
        }
    }

    pub(crate) fn input(
        &self,
        simulation: &Simulation,
    ) -> Result<ReplayRuntimeInput, SimulationError> {
        match self {
            Self::Trace(trace) => {
                let pool = match &simulation.cluster {
                    Cluster::Aggregated(pool) => pool,
                    Cluster::Disaggregated { prefill, .. } => prefill,
                };
                let block_tokens = pool.engine.launch.engine.block_size;
                Ok(ReplayRuntimeInput::Workload(trace.driver(block_tokens)?))
            }
            Self::Closed(closed) => Ok(ReplayRuntimeInput::GeneratedRequests(
                closed.requests(simulation.seed),
            )),
        }
    }
}
