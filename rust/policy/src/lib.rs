//! The router plug-in type `regime` for NVIDIA Dynamo.
//!
//! It routes as Dynamo's default policy does, with the same cost, the same sampling and the same
//! defaults, except that the temperature τ and the prefill weight ω of a pool are swapped while
//! requests are routed, and that every decision is recorded. [`register`] is the one entry: a host
//! or a team's own policy catalog calls it once and keeps the [`Pools`] it returns.
//!
//! ```
//! use dynamo_kv_router::plugins::RouterPluginRegistry;
//! use dynamo_regime_core::{PolicyChange, Temperature};
//! use dynamo_regime_policy::{SwapError, Target, register};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut registry = RouterPluginRegistry::default();
//! let pools = register(&mut registry)?;
//! // The host resolves `registry` with its router configuration and routes. Meanwhile:
//! let warmer = PolicyChange {
//!     temperature: Some(Temperature::try_from(0.7)?),
//!     prefill_weight: None,
//! };
//! // Nothing is routed in this example.
//! assert!(matches!(pools.swap(&Target::All, warmer), Err(SwapError::NoPool)));
//! # Ok(())
//! # }
//! ```

// The tests' support addresses this crate by name, from its own unit tests too.
#[cfg(test)]
extern crate self as dynamo_regime_policy;

use std::sync::Arc;

use dynamo_kv_router::plugins::{RouterPluginRegistry, WorkerSelectionPolicyRegistryError};

mod clock;
mod parameters;
mod picker;
mod pools;
mod scorer;

pub use dynamo_kv_router::WorkerType;
pub use pools::{PoolPolicy, Pools, SwapError, Target};

/// Keeps the examples of the linking guide compiling.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/linking.md")]
struct LinkingGuide;

/// The plug-in type that `worker_selection.instances[].type` names in Dynamo's router-policy YAML.
pub const POLICY_TYPE: &str = "regime";

/// Register the type `regime` and return the handle on all pools that will be routed by it.
///
/// # Errors
/// When a policy of this type name is registered already.
pub fn register(
    registry: &mut RouterPluginRegistry,
) -> Result<Pools, WorkerSelectionPolicyRegistryError> {
    let pools = Pools::default();
    let routed = pools.clone();
    registry.register_worker_selection(
        POLICY_TYPE,
        Arc::new(move |parameters| Ok(routed.factory_with(parameters.deserialize()?))),
    )?;
    Ok(pools)
}
