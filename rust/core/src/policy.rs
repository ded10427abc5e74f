//! What the router is told to do: the temperature τ and the prefill weight ω, as valid values.

/// A policy parameter that is out of range. The message is one sentence that can be shown as it is.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum PolicyError {
    /// The temperature is negative, infinite or not a number.
    #[error("temperature must be finite and not negative, but is {0}")]
    Temperature(f64),
    /// The prefill weight is negative, infinite or not a number.
    #[error("prefill_weight must be finite and not negative, but is {0}")]
    PrefillWeight(f64),
    /// A coefficient of the toll is negative, infinite or not a number.
    #[error("{0} must be finite and not negative, but is {1}")]
    Toll(&'static str, f64),
}

/// Softmax temperature τ over range-normalised costs: finite, ≥ 0; 0 takes the cheapest worker.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Temperature(f64);

impl Temperature {
    /// τ = 0: always the cheapest worker, ties at random.
    pub const ZERO: Self = Self(0.0);

    /// The value, dimensionless.
    #[inline]
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Temperature {
    type Error = PolicyError;

    fn try_from(value: f64) -> Result<Self, PolicyError> {
        finite_and_not_negative(value)
            .map(Self)
            .ok_or(PolicyError::Temperature(value))
    }
}

/// Prefill weight ω, the price of one prefill block in active blocks: finite, ≥ 0.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct PrefillWeight(f64);

impl PrefillWeight {
    /// ω = 1, Dynamo's default: a block still to prefill weighs as much as an active block.
    pub const ONE: Self = Self(1.0);

    /// The value, dimensionless.
    #[inline]
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for PrefillWeight {
    type Error = PolicyError;

    fn try_from(value: f64) -> Result<Self, PolicyError> {
        finite_and_not_negative(value)
            .map(Self)
            .ok_or(PolicyError::PrefillWeight(value))
    }
}

/// `+ 0.0` turns −0 into 0, so that equal policies are printed alike.
fn finite_and_not_negative(value: f64) -> Option<f64> {
    (value.is_finite() && value >= 0.0).then_some(value + 0.0)
}

/// One immutable routing policy. A router reads it once per request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policy {
    /// Softmax temperature τ.
    pub temperature: Temperature,
    /// Prefill weight ω.
    pub prefill_weight: PrefillWeight,
}

/// A change to a policy: what is `None` keeps its present value.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PolicyChange {
    /// The new temperature τ, if it changes.
    pub temperature: Option<Temperature>,
    /// The new prefill weight ω, if it changes.
    pub prefill_weight: Option<PrefillWeight>,
}

impl PolicyChange {
    /// The policy that `current` becomes.
    pub fn apply(self, current: Policy) -> Policy {
        Policy {
            temperature: self.temperature.unwrap_or(current.temperature),
            prefill_weight: self.prefill_weight.unwrap_or(current.prefill_weight),
        }
    }
}

/// A policy and its place in the history of its cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VersionedPolicy {
    /// 1 for the first policy of a cell, one more with every swap.
    pub version: u64,
    /// The policy itself.
    pub policy: Policy,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_finite_values_that_are_not_negative_become_parameters() {
        for value in [0.0, 0.7, 1e308, f64::MIN_POSITIVE] {
            assert_eq!(
                Temperature::try_from(value).map(Temperature::get),
                Ok(value)
            );
            assert_eq!(
                PrefillWeight::try_from(value).map(PrefillWeight::get),
                Ok(value)
            );
        }
        for value in [
            -1.0,
            -f64::MIN_POSITIVE,
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
        ] {
            assert!(Temperature::try_from(value).is_err());
            assert!(PrefillWeight::try_from(value).is_err());
        }
    }

    #[test]
    fn minus_zero_becomes_zero() {
        let temperature = Temperature::try_from(-0.0).map(|t| t.get().is_sign_positive());
        assert_eq!(temperature, Ok(true));
    }

    #[test]
    fn an_error_names_the_parameter_the_rule_and_the_value() {
        let error = Temperature::try_from(-1.0).unwrap_err().to_string();
        assert_eq!(
            error,
            "temperature must be finite and not negative, but is -1"
        );
        let error = PrefillWeight::try_from(f64::INFINITY)
            .unwrap_err()
            .to_string();
        assert_eq!(
            error,
            "prefill_weight must be finite and not negative, but is inf"
        );
    }

    #[test]
    fn a_change_keeps_what_it_does_not_name() {
        let current = Policy {
            temperature: Temperature::ZERO,
            prefill_weight: PrefillWeight::ONE,
        };
        assert_eq!(PolicyChange::default().apply(current), current);
        let warmer = PolicyChange {
            temperature: Temperature::try_from(0.5).ok(),
            prefill_weight: None,
        };
        let changed = warmer.apply(current);
        assert_eq!(changed.temperature.get(), 0.5);
        assert_eq!(changed.prefill_weight, current.prefill_weight);
    }
}
