//! Dynamo's own HTTP frontend, started with the router plug-ins it is given.
//!
//! The one crate that calls `dynamo-llm`, whose generics are compiled here: some minutes each time.
//! It knows nothing of what stands on it, so that it rarely has to be.

mod options;
mod serve;
mod trace;

pub use options::Options;
pub use serve::{Frontend, HostError};
pub use trace::{FinishedRequest, RequestTrace, Traced};
