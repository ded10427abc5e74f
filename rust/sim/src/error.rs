//! Why a simulation did not run to its end.

/// One clear sentence for the user.
#[derive(Debug, thiserror::Error)]
pub enum SimulationError {
    /// The engine's configuration is refused, by aisimulate-core's own reading of it.
    #[error("engine configuration: {0}")]
    Engine(String),
    /// A field of the simulation is out of range; the message names it.
    #[error("{0}")]
    Config(String),
    /// A workload cannot be read or replayed; the message names the place.
    #[error("workload: {0}")]
    Workload(String),
    /// The observer stopped the run.
    #[error("the simulation was stopped")]
    Stopped,
    /// The event loop failed.
    #[error("simulation failed: {0}")]
    Run(String),
}
