//! The adaptive two-tier rules that were proposed for Dynamo, from what their descriptions say.
//!
//! Pull request 14596: cache and load are weighed against each other; a sigmoid raises the load's
//! weight with the imbalance, and pressure on the whole pool limits that; it is updated at most
//! every 100 ms. Pull request 14531 has another controller: an EWMA of the imbalance, which adds to
//! the weight when it is high and otherwise takes a share of it away. The descriptions name no
//! constants; those below are ours, and are marked so.

use fastrand::Rng;

use super::{Request, Rule, Worker, least};

const UPDATE_MS: f64 = 100.0;
/// Ours: how far the load's weight goes down and up.
const LOAD_WEIGHT: (f64, f64) = (0.1, 0.9);
/// Ours: the imbalance at which the sigmoid is in its middle, and beyond which AIMD adds.
const MIDDLE: f64 = 0.5;
/// Ours: how steep the sigmoid is.
const STEEPNESS: f64 = 8.0;
/// Ours: requests on each worker at which pressure takes half of the rise.
const LOAD_SCALE: f64 = 32.0;
/// Ours: what AIMD adds, and what it multiplies by.
const INCREASE: f64 = 0.05;
const DECREASE: f64 = 0.9;
/// Ours: share of the newest imbalance in the EWMA.
const NEWEST: f64 = 0.3;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Control {
    Sigmoid,
    Aimd,
}

pub(super) struct Adaptive {
    control: Control,
    load_weight: f64,
    smoothed_imbalance: f64,
    updated_ms: f64,
}

impl Adaptive {
    pub(super) fn new(control: Control) -> Self {
        Self {
            control,
            load_weight: f64::midpoint(LOAD_WEIGHT.0, LOAD_WEIGHT.1),
            smoothed_imbalance: 0.0,
            updated_ms: f64::NEG_INFINITY,
        }
    }

    fn update(&mut self, workers: &[Worker]) {
        let requests = || workers.iter().map(|worker| worker.requests as f64);
        let mean = requests().sum::<f64>() / workers.len() as f64;
        let most = requests().fold(0.0, f64::max);
        // 0 when all are alike, near 1 when one has all.
        let imbalance = if most > 0.0 { 1.0 - mean / most } else { 0.0 };
        let (low, high) = LOAD_WEIGHT;
        self.load_weight = match self.control {
            Control::Sigmoid => {
                let rise = 1.0 / (1.0 + (-STEEPNESS * (imbalance - MIDDLE)).exp());
                let relief = LOAD_SCALE / (LOAD_SCALE + mean);
                low + (high - low) * rise * relief
            }
            Control::Aimd => {
                self.smoothed_imbalance += NEWEST * (imbalance - self.smoothed_imbalance);
                if self.smoothed_imbalance > MIDDLE {
                    (self.load_weight + INCREASE).min(high)
                } else {
                    (self.load_weight * DECREASE).max(low)
                }
            }
        };
    }
}

impl Rule for Adaptive {
    fn choose(&mut self, request: &Request, workers: &[Worker], rng: &mut Rng) -> usize {
        if request.now_ms - self.updated_ms >= UPDATE_MS {
            self.update(workers);
            self.updated_ms = request.now_ms;
        }
        let most = workers.iter().map(|worker| worker.requests).max();
        let most = most.unwrap_or(0).max(1) as f64;
        let prompt_blocks = request.prompt_blocks.max(1.0);
        let costs = workers.iter().map(|worker| {
            self.load_weight * worker.requests as f64 / most
                - (1.0 - self.load_weight) * worker.cached_blocks / prompt_blocks
        });
        least(costs.enumerate(), rng).unwrap_or(0)
    }
}
