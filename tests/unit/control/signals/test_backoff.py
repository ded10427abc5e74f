"""When a source that failed is tried again."""

import hypothesis.strategies as st
from hypothesis import given

from dynamo_regime.control.signals.backoff import Backoff


def test_the_wait_doubles_up_to_the_longest_and_starts_over_after_a_success() -> None:
    backoff = Backoff(first_seconds=1.0, longest_seconds=5.0)
    waits = []
    for _ in range(5):
        backoff.failed(100.0)
        waits.append(backoff.wait_seconds(100.0))
    assert waits == [1.0, 2.0, 4.0, 5.0, 5.0]
    backoff.succeeded()
    assert backoff.ready(100.0)
    backoff.failed(100.0)
    assert backoff.wait_seconds(100.0) == 1.0


def test_it_is_ready_when_the_wait_is_over_and_not_before() -> None:
    backoff = Backoff(first_seconds=2.0, longest_seconds=8.0)
    backoff.failed(10.0)
    assert not backoff.ready(11.9)
    assert backoff.ready(12.0)


@given(failures=st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20), now=st.floats(-1e6, 1e6))
def test_a_clock_that_jumps_never_makes_it_wait_longer_than_the_longest(
    failures: list[float], now: float
) -> None:
    backoff = Backoff(first_seconds=1.0, longest_seconds=30.0)
    for time in failures:
        backoff.failed(time)
    assert 0.0 <= backoff.wait_seconds(now) <= 30.0
