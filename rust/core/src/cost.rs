//! A worker's routing cost: ω · prefill_blocks + active_blocks (paper, game 3; Dynamo's default).

use crate::policy::PrefillWeight;
use crate::toll::Toll;

/// A block count as routers hold it. Conversion to `f64` is exact up to 2⁵³ blocks.
pub trait Blocks: Copy {
    /// The count as a float.
    fn blocks(self) -> f64;
}

impl Blocks for f64 {
    #[inline]
    fn blocks(self) -> f64 {
        self
    }
}

impl Blocks for f32 {
    #[inline]
    fn blocks(self) -> f64 {
        f64::from(self)
    }
}

impl Blocks for i64 {
    #[inline]
    fn blocks(self) -> f64 {
        self as f64
    }
}

impl Blocks for u32 {
    #[inline]
    fn blocks(self) -> f64 {
        f64::from(self)
    }
}

/// How the cost of a worker is formed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum CostForm {
    /// ω · prefill_blocks + active_blocks, as Dynamo's default has it.
    #[default]
    Linear,
    /// What the request costs everyone, on workers with so many KV blocks.
    Toll {
        /// The coefficients.
        toll: Toll,
        /// KV blocks of one worker, positive; infinite where the pole is switched off.
        kv_blocks: f64,
    },
}

/// The largest cost; what would overflow becomes this, so that costs always stay finite.
pub const MAX: f64 = f64::MAX;

/// The cost of one worker, in active blocks.
///
/// `prefill_blocks` is the worker's prefill backlog plus what this request must still compute
/// there; `active_blocks` is what its running requests hold. Both finite and ≥ 0.
#[inline]
pub fn linear(weight: PrefillWeight, prefill_blocks: f64, active_blocks: f64) -> f64 {
    (weight.get() * prefill_blocks + active_blocks).min(MAX)
}

/// The costs of all workers, written over `costs`. The three slices are of one length; workers
/// beyond the shortest are left out.
pub fn linear_into<P: Blocks, A: Blocks>(
    weight: PrefillWeight,
    prefill_blocks: &[P],
    active_blocks: &[A],
    costs: &mut [f64],
) {
    debug_assert!(prefill_blocks.len() == costs.len() && active_blocks.len() == costs.len());
    for ((prefill, active), cost) in prefill_blocks.iter().zip(active_blocks).zip(costs) {
        *cost = linear(weight, prefill.blocks(), active.blocks());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cost_is_the_weighted_prefill_plus_the_active_blocks() {
        let weight = PrefillWeight::try_from(0.3).unwrap();
        assert_eq!(linear(weight, 10.0, 4.0), 0.3 * 10.0 + 4.0);
        let mut costs = [0.0; 3];
        linear_into(weight, &[0_u32, 10, 20], &[5_i64, 6, 7], &mut costs);
        assert_eq!(costs, [5.0, 0.3 * 10.0 + 6.0, 0.3 * 20.0 + 7.0]);
    }

    #[test]
    fn a_cost_that_would_overflow_stays_finite() {
        let weight = PrefillWeight::try_from(f64::MAX).unwrap();
        assert_eq!(linear(weight, f64::MAX, f64::MAX), f64::MAX);
        let zero = PrefillWeight::try_from(0.0).unwrap();
        assert_eq!(linear(zero, f64::MAX, 1.0), 1.0);
    }
}
