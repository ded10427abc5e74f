import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamo_regime.errors import InputError
from dynamo_regime.study.statistics import (
    Estimate,
    Verdict,
    batch_means,
    estimate,
    paired_change,
)


def test_mean_and_sample_deviation_are_of_the_values_that_are_known() -> None:
    assert estimate([1.0, None, 3.0, math.nan]) == Estimate(2.0, math.sqrt(2.0), 2)
    assert estimate([4.0]) == Estimate(4.0, None, 1)
    assert estimate([None]) is None


@pytest.mark.parametrize("pairs", [6, 10, 30])
def test_the_interval_holds_the_true_change_in_about_95_of_100_samples(pairs: int) -> None:
    rng = np.random.default_rng(pairs)
    held = 0
    samples = 250
    for _ in range(samples):
        # A common part, which pairing takes out, and a true change of -20 %.
        common = rng.normal(10.0, 2.0, pairs)
        before = common + rng.normal(0.0, 0.5, pairs)
        after = 0.8 * common + rng.normal(0.0, 0.5, pairs)
        change = paired_change(before, after)
        assert change.low is not None
        assert change.high is not None
        held += change.low <= -0.2 <= change.high
    # The binomial's standard deviation is 1.4 %; bootstraps of skewed or few pairs cover less.
    assert 0.90 <= held / samples <= 0.995


def test_two_samples_of_one_distribution_are_noise_in_about_95_of_100_cases() -> None:
    rng = np.random.default_rng(1)
    noise = 0
    for _ in range(250):
        before, after = rng.gamma(4.0, 1.0, (2, 12))
        noise += paired_change(before, after).verdict is Verdict.NOISE
    assert 0.90 <= noise / 250 <= 0.995


def test_a_clear_difference_is_told_with_its_sign() -> None:
    before = np.linspace(1.0, 2.0, 8)
    assert paired_change(before, before * 0.5).verdict is Verdict.LOWER
    higher = paired_change(before, before * 3.0)
    assert higher.verdict is Verdict.HIGHER
    assert higher.change == pytest.approx(2.0)


def test_five_pairs_are_too_few_for_a_verdict_unless_all_are_equal() -> None:
    few = paired_change([1.0] * 5, [0.5] * 5)
    assert few.verdict is Verdict.TOO_FEW
    assert few.low is None
    assert few.change == pytest.approx(-0.5)
    assert paired_change([1.0, 2.0], [1.0, 2.0]).verdict is Verdict.EQUAL


@given(st.lists(st.floats(0.1, 100.0), min_size=6, max_size=12), st.floats(0.1, 10.0))
def test_a_change_by_one_factor_has_that_factor_as_its_whole_interval(
    values: list[float], factor: float
) -> None:
    change = paired_change(values, [factor * value for value in values])
    if change.verdict is not Verdict.EQUAL:
        assert change.low == pytest.approx(factor - 1.0, abs=1e-9)
        assert change.high == pytest.approx(factor - 1.0, abs=1e-9)


def test_what_cannot_be_paired_is_refused_in_one_sentence() -> None:
    with pytest.raises(InputError, match="give two columns of one length"):
        paired_change([1.0, 2.0], [1.0])
    with pytest.raises(InputError, match="leave the pair out"):
        paired_change([1.0, math.nan], [1.0, 2.0])
    with pytest.raises(InputError, match="no positive mean"):
        paired_change([0.0], [1.0])


def test_batches_are_means_of_consecutive_values_without_the_unknown() -> None:
    values = [1.0, 3.0, math.nan, 5.0, 7.0, 9.0]
    assert batch_means(values, 3).tolist() == [2.0, 5.0, 8.0]
    with pytest.raises(InputError, match="cannot be cut into 7 batches"):
        batch_means(values, 7)
