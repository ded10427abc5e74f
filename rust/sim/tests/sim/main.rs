//! The virtual-time cluster against queueing theory and against its own promises.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on should stop"
)]

mod support;

mod control;
mod determinism;
mod queueing;
mod refusals;
mod topology;
mod workloads;
