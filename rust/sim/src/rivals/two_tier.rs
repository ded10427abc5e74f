//! The rule of Dynamo's `dynamo-two-tier-cost-fn`, with its documented default thresholds.
//!
//! Dynamo's crate cannot be linked for it: it would switch features of Dynamo's router crate on for
//! everything else. Its tests have the crate and compare with it.

use fastrand::Rng;

use super::{Request, Rule, Worker, least};

pub(super) struct TwoTier {
    /// Share of the prompt beyond which affinity counts.
    cache_threshold: f64,
    /// Difference between the most and the fewest requests beyond which load alone counts, if
    /// their quotient is beyond `balance_rel_threshold` too.
    balance_abs_threshold: usize,
    balance_rel_threshold: f64,
}

impl Default for TwoTier {
    fn default() -> Self {
        Self {
            cache_threshold: 0.5,
            balance_abs_threshold: 32,
            balance_rel_threshold: 1.1,
        }
    }
}

impl Rule for TwoTier {
    fn choose(&mut self, request: &Request, workers: &[Worker], rng: &mut Rng) -> usize {
        let requests = || workers.iter().map(|worker| worker.requests);
        let fewest = requests().min().unwrap_or(0);
        let most = requests().max().unwrap_or(0);
        let is_out_of_balance = most - fewest > self.balance_abs_threshold
            && most as f64 > self.balance_rel_threshold * fewest as f64;
        let best = workers
            .iter()
            .map(|worker| worker.cached_blocks)
            .fold(0.0, f64::max);
        let has_affinity = best > self.cache_threshold * request.prompt_blocks;
        let eligible = workers.iter().enumerate().filter(|(_, worker)| {
            is_out_of_balance || !has_affinity || worker.cached_blocks == best
        });
        least(eligible.map(|(row, worker)| (row, worker.requests)), rng).unwrap_or(0)
    }
}
