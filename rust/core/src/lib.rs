//! The pure heart of dynamo-regime: no Dynamo, no Python, no clock and no global state.
//!
//! One request is routed in four steps, none of which locks or, after warm-up, allocates:
//! load the [`Policy`] from its [`PolicyCell`], compute each worker's [`cost`], [`sample`] one
//! worker, and record the [`Decision`] in a [`DecisionLog`]. Time and randomness are arguments.

pub mod cost;
pub mod sample;

mod cell;
mod decision;
mod log;
mod policy;
mod ring;
mod toll;

pub use cell::PolicyCell;
pub use decision::Decision;
pub use log::{DECISIONS_PER_WRITER, DecisionLog, DecisionWriter, Drained};
pub use policy::{Policy, PolicyChange, PolicyError, PrefillWeight, Temperature, VersionedPolicy};
pub use toll::{Toll, TollInputs};
