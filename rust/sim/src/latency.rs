//! The latency curve of arXiv 2606.17081 as the timing of an engine's passes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use aisimulate_core::engine::TimingModel;
use anyhow::Result;
use serde::Deserialize;

/// How close to saturation the curve is followed, in requests: beyond, the pole grows no more.
const CLOSEST: f64 = 0.5;

/// l(n) = a·n + b + d / (n_sat − n)^β, in seconds, for n requests at once on one worker.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PoleModel {
    /// Seconds for every request.
    pub a: f64,
    /// Seconds of a pass.
    pub b: f64,
    /// Strength of the pole, in seconds · requests^β.
    pub d: f64,
    /// Where the worker saturates, in requests.
    pub n_sat: f64,
    /// Exponent of the pole.
    pub beta: f64,
}

/// Which requests are the n of a prefill pass. Of a decode pass they are those that run in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PrefillLoad {
    /// The prompts in the pass.
    #[default]
    Pass,
    /// All requests in flight in the cluster, by worker of the pool.
    InFlight,
}

impl PoleModel {
    /// l(n) in seconds.
    pub fn seconds(&self, requests: f64) -> f64 {
        let left = (self.n_sat - requests).max(CLOSEST);
        self.a * requests + self.b + self.d / left.powf(self.beta)
    }
}

/// A prefill pass takes l(n), scaled by the share of its prompts that is not cached; a decode pass
/// takes l(n).
pub(crate) struct PoleTiming {
    pub(crate) model: PoleModel,
    pub(crate) prefill_load: PrefillLoad,
    /// Requests in flight in the cluster.
    pub(crate) in_flight: Arc<AtomicUsize>,
    /// Workers of the pool.
    pub(crate) workers: usize,
}

impl TimingModel for PoleTiming {
    fn prefill_batch_validation_can_fail(&self) -> bool {
        false
    }

    fn prefill_prediction_can_fail(&self) -> bool {
        false
    }

    fn predict_prefill_ms(
        &self,
        batch_size: usize,
        mean_isl: usize,
        mean_prefix: usize,
    ) -> Result<f64> {
        if batch_size == 0 || mean_isl == 0 {
            return Ok(0.0);
        }
        let requests = match self.prefill_load {
            PrefillLoad::Pass => batch_size as f64,
            PrefillLoad::InFlight => {
                self.in_flight.load(Ordering::Relaxed) as f64 / self.workers as f64
            }
        };
        let uncached = mean_isl.saturating_sub(mean_prefix) as f64 / mean_isl as f64;
        Ok(1e3 * uncached * self.model.seconds(requests))
    }

    fn predict_decode_ms(
        &self,
        batch_size: usize,
        _active_kv_tokens: usize,
        _mean_context_length: usize,
        _total_kv_tokens: usize,
    ) -> Result<f64> {
        if batch_size == 0 {
            return Ok(0.0);
        }
        Ok(1e3 * self.model.seconds(batch_size as f64))
    }
}
