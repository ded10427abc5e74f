import math

import pytest

from dynamo_regime.control.overrides import Overrides


def test_an_override_covers_its_pool_until_its_time_is_over() -> None:
    overrides = Overrides()
    overrides.expire(100.0)
    overrides.put("prefill", 10.0)
    assert overrides.covers("prefill")
    assert not overrides.covers("decode")
    assert overrides.expire(109.0) == []
    assert overrides.remaining_seconds() == {"prefill": 1.0}
    assert overrides.expire(110.0) == ["prefill"]
    assert not overrides.covers("prefill")


def test_an_override_of_all_pools_covers_each() -> None:
    overrides = Overrides()
    overrides.put(None, 10.0)
    assert overrides.covers("prefill")
    assert overrides.covers("decode")


def test_a_later_override_replaces_an_earlier_one() -> None:
    overrides = Overrides()
    overrides.expire(0.0)
    overrides.put("prefill", 100.0)
    overrides.put("prefill", 1.0)
    assert overrides.expire(1.0) == ["prefill"]


def test_an_override_can_be_ended_early_once() -> None:
    overrides = Overrides()
    overrides.put("prefill", 100.0)
    assert overrides.release("prefill")
    assert not overrides.release("prefill")
    assert not overrides.covers("prefill")


def test_a_clock_that_is_set_back_does_not_prolong_it() -> None:
    overrides = Overrides()
    overrides.expire(1e9)
    overrides.put("prefill", 3.0)
    ended = [overrides.expire(float(time)) for time in range(10)]
    assert ended.index(["prefill"]) == 3


@pytest.mark.parametrize("seconds", [0.0, -1.0, math.nan, math.inf])
def test_a_time_to_live_is_positive_and_finite(seconds: float) -> None:
    with pytest.raises(ValueError, match="positive number of seconds"):
        Overrides().put(None, seconds)
