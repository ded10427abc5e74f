"""The speed of prefill from waits and from work, against workers whose speed is known."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamo_regime.control.signals.prefill_speed import Prefills, PrefillSpeed

SPEED = 10_000.0


def served(
    arrivals: np.ndarray[tuple[int], np.dtype[np.float64]],
    tokens: np.ndarray[tuple[int], np.dtype[np.float64]],
    worker: int = 1,
    speed: float = SPEED,
) -> Prefills:
    """One worker that computes one prompt after the other."""
    ends = np.empty_like(arrivals)
    free = 0.0
    for row, (arrival, prompt) in enumerate(zip(arrivals, tokens, strict=True)):
        free = max(free, arrival) + prompt / speed
        ends[row] = free
    return Prefills(np.full(ends.size, worker, np.uint64), ends, tokens, ends - arrivals)


def test_without_a_backlog_the_times_of_prefills_tell_it() -> None:
    speed = PrefillSpeed(5.0)
    tokens = np.full(3, 500.0)
    speed.add(3.0, served(np.array([0.0, 1.0, 2.0]), tokens))
    assert speed.at(3.0) == pytest.approx(SPEED)


def test_with_a_backlog_from_the_very_start_the_work_done_tells_it() -> None:
    speed = PrefillSpeed(5.0)
    tokens = np.full(200, 500.0)
    busy = served(np.zeros(200), tokens)  # All at once: the last one waits for ten seconds.
    for second in range(1, 11):
        ended = (busy.end_seconds > second - 1) & (busy.end_seconds <= second)
        speed.add(float(second), busy.where(ended))
    found = speed.at(10.0)
    assert found is not None
    assert 0.98 * SPEED <= found <= SPEED


def test_the_work_of_two_workers_is_not_taken_for_that_of_one() -> None:
    speed = PrefillSpeed(5.0)
    tokens = np.full(40, 500.0)
    for worker in (1, 2):
        speed.add(2.0, served(np.zeros(40), tokens, worker))
    found = speed.at(2.0)
    assert found is not None
    assert found <= SPEED


def test_a_prompt_that_was_all_but_computed_before_does_not_count_as_work() -> None:
    speed = PrefillSpeed(5.0)
    ends = np.array([0.0, *np.linspace(1.0, 2.0, 8)])
    tokens = np.array([10.0, *[10.0] * 7, 100_000.0])
    speed.add(2.0, Prefills(np.ones(9, np.uint64), ends, tokens, np.full(9, np.nan)))
    found = speed.at(2.0)
    assert found == pytest.approx(70.0 / 2.0)


def test_it_is_forgotten_after_five_minutes() -> None:
    speed = PrefillSpeed(5.0)
    speed.add(1.0, served(np.array([0.0]), np.array([500.0])))
    assert speed.at(1.0) == pytest.approx(SPEED)
    speed.add(301.0, served(np.array([]), np.array([])))
    assert speed.at(301.0) == pytest.approx(SPEED)
    assert speed.at(301.5) is None


numbers = st.floats(allow_nan=True, allow_infinity=True)


@given(st.lists(st.tuples(st.integers(0, 3), numbers, numbers, numbers), max_size=40), numbers)
def test_no_columns_however_wild_make_it_fail_or_tell_a_speed_that_is_none(
    rows: list[tuple[int, float, float, float]], time: float
) -> None:
    speed = PrefillSpeed(5.0)
    worker, end, tokens, seconds = (
        (np.array(column) for column in zip(*rows, strict=True)) if (rows) else (np.array([]),) * 4
    )
    for at in (0.0, time, 1.0):
        speed.add(at, Prefills(worker.astype(np.uint64), end, tokens, seconds))
        found = speed.at(at)
        assert found is None or (math.isfinite(found) and found > 0)


@given(
    st.integers(0, 1_000),
    st.lists(st.tuples(st.floats(0, 60), st.floats(1, 5_000)), min_size=8, max_size=60),
)
def test_it_never_says_more_than_the_worker_can(
    seed: int, requests: list[tuple[float, float]]
) -> None:
    arrivals, tokens = (np.array(column) for column in zip(*sorted(requests), strict=True))
    done = served(arrivals, tokens)
    speed = PrefillSpeed(5.0)
    drains = np.sort(np.random.default_rng(seed).uniform(0, done.end_seconds.max() + 1, 20))
    before = -1.0
    for time in drains:
        speed.add(float(time), done.where((done.end_seconds > before) & (done.end_seconds <= time)))
        before = float(time)
        found = speed.at(float(time))
        assert found is None or found <= SPEED * (1 + 1e-9)
