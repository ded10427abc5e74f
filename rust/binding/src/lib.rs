//! What both extension modules need to speak Python: arguments in, values and errors out.
//!
//! The values are the dataclasses of `dynamo_regime.target`. A class compiled into each of the two
//! modules would be two types of one name, and `isinstance` would fail across them.

mod arguments;
mod errors;
mod values;

pub use arguments::{limit, policy_change, prefill_weight, seed, temperature};
pub use errors::{input_error, policy_error, regime_error, unknown_pool_error};
pub use values::{decisions, pool_policy};
