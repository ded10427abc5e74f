import numpy as np
import pytest

from dynamo_regime.control import Regime
from dynamo_regime.control.detectors.thresholds import (
    Hysteresis,
    ThresholdLearner,
    Thresholds,
    regime_at,
)

MOST = Thresholds(transition=60.0, saturated=300.0)


def learner() -> ThresholdLearner:
    return ThresholdLearner(margin=3.0, ratio=5.0, lowest=0.05, highest=MOST)


def test_the_load_index_is_linear_between_the_thresholds_and_beyond() -> None:
    thresholds = Thresholds(transition=2.0, saturated=6.0)
    values = (0.0, 1.0, 2.0, 4.0, 6.0, 10.0)
    assert [thresholds.load_index(value) for value in values] == [0.0, 0.5, 1.0, 1.5, 2.0, 3.0]


def test_a_threshold_itself_belongs_to_the_regime_below() -> None:
    assert [regime_at(index) for index in (1.0, 1.01, 2.0, 2.01)] == [
        Regime.NORMAL,
        Regime.TRANSITION,
        Regime.TRANSITION,
        Regime.SATURATED,
    ]


def test_hysteresis_goes_up_at_the_threshold_and_down_below_it() -> None:
    hysteresis = Hysteresis(0.2)
    path = [0.9, 1.1, 0.9, 0.79, 2.1, 1.9, 1.79, 0.7]
    assert [hysteresis.regime(index).rank for index in path] == [0, 1, 1, 0, 2, 2, 1, 0]


def test_learned_thresholds_are_three_and_fifteen_times_the_95th_percentile() -> None:
    seen = learner()
    for value in np.linspace(0.0, 1.0, 101):
        seen.see(float(value))
    thresholds = seen.thresholds()
    assert thresholds is not None
    assert thresholds.transition == pytest.approx(3.0 * 0.95)
    assert thresholds.saturated == pytest.approx(15.0 * 0.95)


def test_nothing_is_learned_from_fewer_than_twenty_values() -> None:
    seen = learner()
    for value in [0.5] * 19 + [float("nan")] * 50:
        seen.see(value)
    assert seen.thresholds() is None
    seen.see(0.5)
    assert seen.thresholds() is not None


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0.0, Thresholds(transition=0.05, saturated=0.25)), (1e9, MOST)],
)
def test_learned_thresholds_stay_within_bounds(value: float, expected: Thresholds) -> None:
    seen = learner()
    for _ in range(50):
        seen.see(value)
    assert seen.thresholds() == expected
