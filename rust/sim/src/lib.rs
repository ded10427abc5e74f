//! A Dynamo cluster in virtual time, routed by the very plug-in that routes a live one.
//!
//! The engines (scheduler, KV cache, timing) and the event loop are aisimulate-core's, the crate
//! under Dynamo's own offline replay. The router's state is kept in Dynamo's own structures
//! (`RadixTree`, `ActiveSequencesMultiWorker`, `PolicyQueue`), and workers are chosen by the
//! `regime` plug-in. One call of [`simulate`] runs one cluster on one thread, and is the same bit
//! for bit for the same [`Simulation`].
//!
//! ```
//! use dynamo_regime_core::{Policy, PrefillWeight, Temperature};
//! use dynamo_regime_sim::{
//!     Cluster, Engine, MultiTurn, PoolSpec, RouterSettings, Simulation, Unobserved, Workload,
//!     simulate,
//! };
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let policy = Policy {
//!     temperature: Temperature::ZERO,
//!     prefill_weight: PrefillWeight::ONE,
//! };
//! let simulation = Simulation {
//!     cluster: Cluster::Aggregated(PoolSpec::new(2, Engine::default())),
//!     router: RouterSettings::new(policy),
//!     workload: Workload::Trace(MultiTurn { sessions: 20, ..MultiTurn::default() }.generate(7)?),
//!     seed: 7,
//!     sample_interval_seconds: None,
//! };
//! let outcome = simulate(&simulation, &mut Unobserved)?;
//! assert_eq!(outcome.summary.completed, outcome.requests.len());
//! # Ok(())
//! # }
//! ```

mod composition;
mod config;
mod error;
mod events;
mod latency;
mod observer;
mod outcome;
mod pool;
mod rivals;
mod roster;
mod router;
mod run;
mod workload;

pub use aisimulate_core::engine::TimingModel;
pub use config::{
    Cluster, Engine, Lifetime, PoolSpec, RouterSettings, Routing, Simulation, Timing,
};
pub use error::SimulationError;
pub use latency::{PoleModel, PrefillLoad};
pub use observer::{
    Finished, FirstToken, Observer, PoolLoad, Progress, Sample, Unobserved, WorkerLoad,
};
pub use outcome::{Distribution, Outcome, PolicyAt, Requests, Summary};
pub use rivals::Rival;
pub use run::simulate;
pub use workload::{BadLine, ClosedLoop, MultiTurn, Phase, Trace, TraceRequest, Workload};
