from collections.abc import Sequence

import pytest

from dynamo_regime.control import Cause, Latency, Quantile, Reading, Regime, Transition
from dynamo_regime.control.quality import (
    QualityTracker,
    RequestsHurt,
    oscillations_per_hour,
    requests_hurt,
    settling,
    transition_quality,
)

NORMAL, TRANSITION, SATURATED = Regime


def change(
    time: float,
    before: Regime = NORMAL,
    after: Regime = TRANSITION,
    cause: Cause = Cause.LOAD,
    since: float | None = None,
) -> Transition:
    return Transition(time, time, before, after, cause, "why", since)


def series(p99_seconds: Sequence[float | None], begin: float = 0.0) -> list[Reading]:
    """One a second."""
    return [
        Reading(
            time=begin + index,
            window=1.0,
            ttft=Latency(count=0)
            if seconds is None
            else Latency(count=10, p50=Quantile(seconds / 2), p99=Quantile(seconds)),
        )
        for index, seconds in enumerate(p99_seconds)
    ]


# At rest; from 10 s on a spike to 4 s that settles at 1 s, 20 s after its onset.
SPIKE = series([0.2] * 10 + [4.0] * 10 + [2.0] * 10 + [1.0] * 30)


def test_detection_adaptation_and_overshoot_are_those_of_a_series_with_known_answers() -> None:
    quality = transition_quality(SPIKE, change(13.0), onset=10.0, ttft_limit_seconds=None)
    assert quality.detect_seconds == 3.0
    assert quality.adapt_seconds == 20.0
    assert quality.overshoot == pytest.approx(3.0)
    assert quality.until == 59.0
    assert quality.hurt is None


def test_without_an_onset_there_is_no_time_to_detect() -> None:
    quality = transition_quality(SPIKE, change(13.0), onset=None, ttft_limit_seconds=None)
    assert quality.detect_seconds is None
    assert quality.adapt_seconds == 17.0


def test_what_swings_to_the_end_has_not_settled() -> None:
    swinging = series([1.0, 4.0] * 20)
    quality = transition_quality(swinging, change(1.0), onset=0.0, ttft_limit_seconds=None)
    assert (quality.adapt_seconds, quality.overshoot) == (None, None)


def test_without_latencies_nothing_is_made_up() -> None:
    quality = transition_quality(
        series([None] * 40), change(1.0), onset=0.0, ttft_limit_seconds=1.0
    )
    assert (quality.adapt_seconds, quality.overshoot) == (None, None)
    assert quality.hurt == RequestsHurt(0, 0, 0)


def test_requests_are_counted_from_the_onset_until_settled() -> None:
    quality = transition_quality(SPIKE, change(13.0), onset=10.0, ttft_limit_seconds=1.5)
    # Ten windows with a P50 of 2 s: half of 10 at least. Ten with a P50 of 1 s and a P99 of 2 s:
    # half at most. The settled one: a hundredth at most, rounded up.
    assert quality.hurt == RequestsHurt(at_least=50, at_most=151, finished=210)


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        (Latency(100, Quantile(0.1), Quantile(0.5)), (0, 1)),
        (Latency(100, Quantile(0.1), Quantile(2.0)), (1, 50)),
        (Latency(100, Quantile(1.5), Quantile(2.0)), (50, 100)),
        (Latency(100), (0, 100)),
        (Latency(100, Quantile(0.5, True), Quantile(0.5, True)), (0, 100)),
        (Latency(100, Quantile(0.1), Quantile(0.5, True)), (0, 100)),
    ],
)
def test_bounds_on_requests_hurt_follow_from_the_quantiles(
    window: Latency, expected: tuple[int, int]
) -> None:
    found = requests_hurt([window], limit_seconds=1.0)
    assert (found.at_least, found.at_most, found.finished) == (*expected, 100)


def test_oscillations_are_changes_that_were_taken_back_per_hour() -> None:
    up_and_down = [
        change(100.0 * index, *((NORMAL, TRANSITION) if index % 2 == 0 else (TRANSITION, NORMAL)))
        for index in range(6)
    ]
    assert oscillations_per_hour(up_and_down, 0.0, 1_800.0) == 10.0
    one_way = [change(0.0), change(10.0, TRANSITION, SATURATED)]
    assert oscillations_per_hour(one_way, 0.0, 3_600.0) == 0.0
    outage = [
        change(0.0, NORMAL, NORMAL, Cause.FALLBACK),
        change(10.0, NORMAL, NORMAL, Cause.RECOVERY),
    ]
    assert oscillations_per_hour(outage, 0.0, 3_600.0) == 0.0
    with pytest.raises(ValueError, match="after the begin"):
        oscillations_per_hour([], 1.0, 1.0)


def test_a_transition_is_judged_at_the_next_one() -> None:
    tracker = QualityTracker()
    judged = [
        tracker.see(reading, {13.0: change(13.0, since=10.0), 50.0: change(50.0)}.get(reading.time))
        for reading in SPIKE
    ]
    (quality,) = (each for each in judged if each is not None)
    assert quality.detect_seconds == 3.0
    assert quality.adapt_seconds == 20.0
    assert quality.until == 50.0


def test_a_transition_is_judged_at_the_horizon_if_none_follows() -> None:
    tracker = QualityTracker(horizon_seconds=40.0)
    judged = [
        (reading.time, quality)
        for reading in SPIKE
        if (quality := tracker.see(reading, change(13.0) if reading.time == 13.0 else None))
    ]
    assert [time for time, _ in judged] == [53.0]


def test_settling_is_when_it_stays_near_where_it_ends() -> None:
    rise = [(float(t), 1.0 + 9.0 * min(t / 5.0, 1.0)) for t in range(20)]
    assert settling(rise) == (4.0, 0.0)  # 8.2 is within 25 % of 10.
    peak = [(float(t), value) for t, value in enumerate([1.0, 30.0, 20.0, *([10.0] * 17)])]
    settled_at, overshoot = settling(peak)
    assert (settled_at, overshoot) == (3.0, 2.0)
    assert settling(peak[:7]) == (None, None)
    swings = [(float(t), 10.0 if t % 2 else 1.0) for t in range(20)]
    assert settling(swings) == (None, None)
