import math

from dynamo_regime.control.running_time import RunningTime


def total(times: list[float]) -> float:
    clock = RunningTime(longest_step_seconds=10.0)
    return [clock.advance(time) for time in times][-1]


def test_it_adds_up_steps_forward() -> None:
    assert total([100.0, 101.0, 103.5]) == 3.5


def test_a_step_backwards_counts_as_none() -> None:
    assert total([100.0, 101.0, 5.0, 6.0]) == 2.0


def test_a_long_step_counts_as_the_longest() -> None:
    assert total([0.0, 1e300, 1.0, 2.0]) == 11.0


def test_nan_and_infinity_change_nothing() -> None:
    assert total([0.0, 1.0, math.nan, math.inf, -math.inf, 2.0]) == 2.0
