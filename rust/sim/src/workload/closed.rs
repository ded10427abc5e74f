//! A closed loop: a number of clients, each with one request in flight, by phases.

use aisimulate_core::replay::DirectRequest;
use aisimulate_core::replay::loadgen::GeneratedRequests;
use fastrand::Rng;

use crate::error::SimulationError;

/// More requests than a run can finish; the phases end it.
const ENDLESS: usize = u32::MAX as usize;

/// Keeps the seed's stream apart from the one that the plug-in draws from.
const STREAM: u64 = 0x636c_6f73_6564;

/// Clients that send one of a few prompt templates again and again. The default is the load of
/// arXiv 2606.17081: 5 templates, 128 tokens in, 256 out, 32/128/32 clients for 120/180/120 s.
#[derive(Clone, Debug, PartialEq)]
pub struct ClosedLoop {
    /// How many clients there are, and for how long.
    pub phases: Vec<Phase>,
    /// Different prompts, each as likely as the others.
    pub templates: u32,
    /// Tokens of a prompt.
    pub input_tokens: u32,
    /// Tokens of an answer.
    pub output_tokens: usize,
}

/// A time with a constant number of clients.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Phase {
    /// Requests in flight. When it falls, what is in flight is finished.
    pub concurrency: usize,
    /// Length of the phase, in seconds of virtual time.
    pub duration_seconds: f64,
}

impl Default for ClosedLoop {
    fn default() -> Self {
        let phase = |concurrency, duration_seconds| Phase {
            concurrency,
            duration_seconds,
        };
        Self {
            phases: vec![phase(32, 120.0), phase(128, 180.0), phase(32, 120.0)],
            templates: 5,
            input_tokens: 128,
            output_tokens: 256,
        }
    }
}

impl ClosedLoop {
    pub(crate) fn validate(&self) -> Result<(), SimulationError> {
        let refused = |message: String| Err(SimulationError::Config(message));
        if self.phases.is_empty() {
            return refused("a closed loop must have at least one phase".to_owned());
        }
        for (number, phase) in self.phases.iter().enumerate() {
            let seconds = phase.duration_seconds;
            if phase.concurrency == 0 || !seconds.is_finite() || seconds <= 0.0 {
                return refused(format!(
                    "phase {number} must have a client and last a finite time, but has {} clients for {seconds} s",
                    phase.concurrency
                ));
            }
        }
        if self.templates == 0 || self.input_tokens == 0 || self.output_tokens == 0 {
            return refused(
                "a closed loop must have at least one template, one input token and one output token"
                    .to_owned(),
            );
        }
        Ok(())
    }

    pub(crate) fn duration_seconds(&self) -> f64 {
        self.phases.iter().map(|phase| phase.duration_seconds).sum()
    }

    pub(crate) fn requests(&self, seed: u64) -> GeneratedRequests {
        let mut rng = Rng::with_seed(seed ^ STREAM);
        let (templates, input_tokens, output_tokens) =
            (self.templates, self.input_tokens, self.output_tokens);
        GeneratedRequests::new(ENDLESS, move |_| {
            let first = rng.u32(0..templates).wrapping_mul(input_tokens);
            Ok(DirectRequest {
                tokens: (0..input_tokens)
                    .map(|token| first.wrapping_add(token))
                    .collect(),
                max_output_tokens: output_tokens,
                output_token_ids: Some((0..output_tokens).map(|_| rng.u32(..)).collect()),
                ..DirectRequest::default()
            })
        })
    }
}
