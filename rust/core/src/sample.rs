//! Choosing a worker from costs: the minimum at τ = 0, a softmax at τ > 0.
//!
//! The softmax is Dynamo's: p ∝ exp(−(c − min) / ((max − min) · τ)), uniform when all costs are
//! equal. It is evaluated so that every finite cost and every valid τ gives finite weights: costs
//! are shifted before they are scaled, and halved when their range itself would overflow.

use fastrand::Rng;

use crate::policy::Temperature;

/// A chosen worker and how it stood among the others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pick {
    /// Row of the chosen worker.
    pub row: usize,
    /// Lowest cost of all workers.
    pub min_cost: f64,
    /// Highest cost of all workers.
    pub max_cost: f64,
}

/// Choose one worker; `None` when there is none. O(workers).
///
/// At τ = 0 the workers of minimal cost are equally likely; otherwise the softmax above, with one
/// draw from `rng`. `scratch` is reused between calls and grows to the number of workers once.
/// Costs must be finite; should one not be, the answer is still a row.
#[inline]
pub fn pick<C>(
    costs: C,
    temperature: Temperature,
    rng: &mut Rng,
    scratch: &mut Vec<f64>,
) -> Option<Pick>
where
    C: Iterator<Item = f64> + Clone,
{
    if temperature.get() == 0.0 {
        minimum(costs, rng)
    } else {
        softmax(costs, temperature, rng, scratch)
    }
}

/// The probability of each worker under [`pick`], written over `probabilities`.
pub fn probabilities<C>(costs: C, temperature: Temperature, probabilities: &mut Vec<f64>)
where
    C: Iterator<Item = f64> + Clone,
{
    let Some(range) = Range::of(costs.clone()) else {
        probabilities.clear();
        return;
    };
    let total = if temperature.get() == 0.0 {
        probabilities.clear();
        probabilities.extend(costs.map(|cost| f64::from(u8::from(cost == range.min))));
        probabilities.iter().sum()
    } else {
        range.weights(costs, temperature, probabilities)
    };
    for probability in probabilities.iter_mut() {
        *probability /= total;
    }
}

/// Reservoir sampling over the ties: the k-th of them replaces the choice with probability 1/k.
#[inline]
fn minimum<C: Iterator<Item = f64>>(costs: C, rng: &mut Rng) -> Option<Pick> {
    let mut row = None;
    let (mut min_cost, mut max_cost) = (f64::INFINITY, f64::NEG_INFINITY);
    let mut ties = 0;
    for (candidate, cost) in costs.enumerate() {
        if cost < min_cost || row.is_none() {
            (row, min_cost, ties) = (Some(candidate), cost, 1);
        } else if cost == min_cost {
            ties += 1;
            if rng.usize(0..ties) == 0 {
                row = Some(candidate);
            }
        }
        max_cost = max_cost.max(cost);
    }
    row.map(|row| Pick {
        row,
        min_cost,
        max_cost,
    })
}

#[inline]
fn softmax<C>(
    costs: C,
    temperature: Temperature,
    rng: &mut Rng,
    weights: &mut Vec<f64>,
) -> Option<Pick>
where
    C: Iterator<Item = f64> + Clone,
{
    let range = Range::of(costs.clone())?;
    let total = range.weights(costs, temperature, weights);
    let target = rng.f64() * total;
    let mut cumulative = 0.0;
    let drawn = weights.iter().position(|weight| {
        cumulative += weight;
        target < cumulative
    });
    Some(Pick {
        // Rounding may leave the target at the total: the cheapest worker has the largest weight.
        row: drawn.unwrap_or(range.min_row),
        min_cost: range.min,
        max_cost: range.max,
    })
}

struct Range {
    min: f64,
    max: f64,
    min_row: usize,
}

impl Range {
    #[inline]
    fn of<C: Iterator<Item = f64>>(costs: C) -> Option<Self> {
        let mut costs = costs.enumerate();
        let (_, first) = costs.next()?;
        let first = Self {
            min: first,
            max: first,
            min_row: 0,
        };
        Some(costs.fold(first, |range, (row, cost)| Self {
            min: range.min.min(cost),
            max: range.max.max(cost),
            min_row: if cost < range.min { row } else { range.min_row },
        }))
    }

    /// Write the unnormalised weights, the cheapest worker's being 1, and return their sum.
    #[inline]
    fn weights<C: Iterator<Item = f64>>(
        &self,
        costs: C,
        temperature: Temperature,
        weights: &mut Vec<f64>,
    ) -> f64 {
        weights.clear();
        let half = if (self.max - self.min).is_finite() {
            1.0
        } else {
            0.5
        };
        let (min, range) = (self.min * half, self.max * half - self.min * half);
        if range == 0.0 {
            weights.extend(costs.map(|_| 1.0));
        } else {
            weights.extend(
                costs.map(|cost| (-((cost * half - min) / range) / temperature.get()).exp()),
            );
        }
        weights.iter().sum()
    }
}

#[cfg(test)]
mod tests;
