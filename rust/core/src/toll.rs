//! The toll policy: a worker's cost is what the request costs everyone if it goes there.
//!
//! In the congestion game of arXiv 2606.17081 (game 3) each request pays for its own delay only.
//! Pigou's remedy is to have it pay what it does to the others as well; then what is cheapest for
//! one is cheapest for all. In prefill tokens, the unit in which a worker's time is counted here:
//!
//! | term | who pays, and why |
//! | --- | --- |
//! | B + u | the request itself: it waits for the queued prompts B, then computes its own part u |
//! | ω · k · n · u | the n requests that run there: while u is computed they get no token |
//! | ω · κ · q · u | those who come while the backlog lasts: each waits for u as well. By Little's law they are about as many as wait now, q = B / ū, with the mean ū of what a request computes |
//! | l · n | both: a decode pass of one request more takes longer, for it and for the n |
//! | d · A | both: a decode pass reads all A tokens that the worker holds |
//! | m · f / (1 − f) | whoever is preempted when the share f of the KV blocks in use nears 1 |
//!
//! A coefficient of 0 switches its term off. ω is the prefill weight of the pool's policy, so that
//! what swaps ω swaps the toll: 0 is selfish, 1 charges k and κ as they are.

use crate::cost::MAX;
use crate::policy::{PolicyError, PrefillWeight};

/// From this occupancy on the pole is a straight line. Beyond it requests wait for blocks that are
/// given back at a steady pace, so that the wait grows with what is overbooked and not without bound.
const POLE_UNTIL: f64 = 0.9;

/// The slope of that line.
const OVERBOOKED: f64 = 10.0;

/// The coefficients, all finite and ≥ 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Toll {
    /// k: the share of a prefill's time that each running request loses to it.
    pub interference: f64,
    /// κ: the share of those who come while a worker has a backlog that are sent to it.
    pub queueing: f64,
    /// l: what a running request costs, in prefill tokens.
    pub request_tokens: f64,
    /// d: what a token in the KV cache of a running request costs, in prefill tokens.
    pub active_token_weight: f64,
    /// m: what the pole costs where half of the KV blocks are in use, in prefill tokens.
    pub pole_tokens: f64,
}

impl Toll {
    /// What was tuned in the simulator; `docs/results.md` says how.
    pub const TUNED: Self = Self {
        interference: 0.2,
        queueing: 1.0,
        request_tokens: 100.0,
        active_token_weight: 0.0,
        pole_tokens: 3_000.0,
    };

    /// The coefficients, if they are valid.
    ///
    /// # Errors
    /// Names the one that is not finite, or negative.
    pub fn validated(self) -> Result<Self, PolicyError> {
        for (name, value) in [
            ("interference", self.interference),
            ("queueing", self.queueing),
            ("request_tokens", self.request_tokens),
            ("active_token_weight", self.active_token_weight),
            ("pole_tokens", self.pole_tokens),
        ] {
            if !value.is_finite() || value < 0.0 {
                return Err(PolicyError::Toll(name, value));
            }
        }
        Ok(self)
    }

    /// What is left of it among workers that only prefill: what runs there are the prompts of the
    /// backlog, which nobody who comes later holds up.
    pub fn of_prefill_workers(self) -> Self {
        Self {
            interference: 0.0,
            request_tokens: 0.0,
            ..self
        }
    }

    /// The cost of one worker, in prefill tokens: finite.
    #[inline]
    pub fn cost(&self, weight: PrefillWeight, worker: &TollInputs) -> f64 {
        let TollInputs {
            backlog_tokens,
            uncached_tokens,
            waiting_requests,
            active_requests,
            active_tokens,
            occupancy,
        } = *worker;
        let held_up = self.interference * active_requests + self.queueing * waiting_requests;
        let toll = weight.get() * held_up * uncached_tokens;
        let decode =
            self.request_tokens * active_requests + self.active_token_weight * active_tokens;
        let cost =
            backlog_tokens + uncached_tokens + toll + decode + self.pole_tokens * pole(occupancy);
        cost.min(MAX)
    }
}

/// One worker as the toll sees it; all finite and ≥ 0.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TollInputs {
    /// B: prompt tokens that wait or are being computed there.
    pub backlog_tokens: f64,
    /// u: tokens of this request's prompt that are not cached there.
    pub uncached_tokens: f64,
    /// q: how many requests of a mean prompt its backlog is.
    pub waiting_requests: f64,
    /// n: requests that run there.
    pub active_requests: f64,
    /// A: tokens that running requests hold there, this one included.
    pub active_tokens: f64,
    /// f: the share of the worker's KV blocks that these take.
    pub occupancy: f64,
}

/// f / (1 − f), and from [`POLE_UNTIL`] on a straight line.
#[inline]
fn pole(occupancy: f64) -> f64 {
    let followed = occupancy.min(POLE_UNTIL);
    followed / (1.0 - followed) + OVERBOOKED * (occupancy - followed)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORKER: TollInputs = TollInputs {
        backlog_tokens: 3_000.0,
        uncached_tokens: 500.0,
        waiting_requests: 6.0,
        active_requests: 4.0,
        active_tokens: 8_192.0,
        occupancy: 0.5,
    };

    fn weight(value: f64) -> PrefillWeight {
        PrefillWeight::try_from(value).unwrap()
    }

    const NOTHING: Toll = Toll {
        interference: 0.0,
        queueing: 0.0,
        request_tokens: 0.0,
        active_token_weight: 0.0,
        pole_tokens: 0.0,
    };

    #[test]
    fn the_cost_is_the_sum_of_its_terms() {
        let toll = Toll {
            active_token_weight: 0.25,
            ..Toll::TUNED
        };
        // By hand: 3,500 own delay, 0.2 · 4 · 500, 1 · 6 · 500, 100 · 4, 0.25 · 8,192, 3,000 · 0.5/0.5.
        let expected = 3_500.0 + 400.0 + 3_000.0 + 400.0 + 2_048.0 + 3_000.0;
        assert!((toll.cost(weight(1.0), &WORKER) - expected).abs() < 1e-9);
    }

    #[test]
    fn a_coefficient_of_zero_switches_its_term_off_and_only_that() {
        assert_eq!(NOTHING.cost(weight(1.0), &WORKER), 3_500.0);
        let with = |toll: Toll| toll.cost(weight(1.0), &WORKER) - 3_500.0;
        assert_eq!(
            with(Toll {
                interference: 1.0,
                ..NOTHING
            }),
            2_000.0
        );
        assert_eq!(
            with(Toll {
                queueing: 1.0,
                ..NOTHING
            }),
            3_000.0
        );
        assert_eq!(
            with(Toll {
                request_tokens: 1.0,
                ..NOTHING
            }),
            4.0
        );
        assert_eq!(
            with(Toll {
                active_token_weight: 1.0,
                ..NOTHING
            }),
            8_192.0
        );
        assert_eq!(
            with(Toll {
                pole_tokens: 1.0,
                ..NOTHING
            }),
            1.0
        );
    }

    #[test]
    fn the_prefill_weight_scales_what_the_others_pay_and_nothing_else() {
        let cost = |value| Toll::TUNED.cost(weight(value), &WORKER);
        assert!((cost(3.0) - cost(0.0) - 3.0 * 3_400.0).abs() < 1e-9);
        let alone = TollInputs {
            active_requests: 0.0,
            waiting_requests: 0.0,
            ..WORKER
        };
        let costs = [0.0, 5.0].map(|value| Toll::TUNED.cost(weight(value), &alone));
        assert_eq!(costs[0], costs[1]);
    }

    #[test]
    fn the_pole_rises_without_a_jump_and_tells_overbooked_workers_apart() {
        assert_eq!(pole(0.0), 0.0);
        assert_eq!(pole(0.5), 1.0);
        assert!((pole(0.9) - 9.0).abs() < 1e-9);
        let steps: Vec<f64> = (0..=300)
            .map(|step| pole(f64::from(step) / 200.0))
            .collect();
        assert!(
            steps
                .windows(2)
                .all(|pair| pair[0] < pair[1] && pair[1].is_finite())
        );
        assert!((pole(POLE_UNTIL + 1e-9) - pole(POLE_UNTIL)).abs() < 1e-6);
    }

    #[test]
    fn the_cost_stays_finite() {
        let huge = TollInputs {
            backlog_tokens: f64::MAX,
            active_requests: f64::MAX,
            ..WORKER
        };
        assert_eq!(Toll::TUNED.cost(weight(1.0), &huge), f64::MAX);
    }

    #[test]
    fn a_coefficient_out_of_range_is_refused_by_name() {
        let error = Toll {
            pole_tokens: -1.0,
            ..Toll::TUNED
        }
        .validated()
        .unwrap_err();
        assert_eq!(
            error.to_string(),
            "pole_tokens must be finite and not negative, but is -1"
        );
        assert!(Toll::TUNED.validated().is_ok());
    }
}
