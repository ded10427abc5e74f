//! The plug-in against Dynamo's public contract and against Dynamo's own default policy.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on should stop"
)]

mod logits;
mod support;
mod world;

mod decisions;
mod limits;
mod parity;
mod pools;
mod sampling;
mod service;
mod swap;
mod toll;
mod yaml;
