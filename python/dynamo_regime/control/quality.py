"""How well a change of load was met: the transition is judged, not the steady state.

Source: arXiv 2606.17081 asks for time to adapt, overshoot and oscillation as measures of a router.
"""

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from dynamo_regime.control.reading import Latency, Reading
from dynamo_regime.control.regime import Cause, Transition

SETTLED_BAND = 0.25
"""Settled is what stays within this share of where it ends."""


@dataclass(frozen=True, slots=True)
class RequestsHurt:
    """Requests whose TTFT exceeded a limit: bounds, for readings hold quantiles and no requests.

    Attributes:
        at_least: So many for certain.
        at_most: No more than these; a window without quantiles counts whole.
        finished: All requests that finished meanwhile.
    """

    at_least: int
    at_most: int
    finished: int


@dataclass(frozen=True, slots=True)
class TransitionQuality:
    """What one change of load cost.

    Times are in seconds. None is what could not be told: no onset, no latencies, or not settled
    before the next transition.

    Attributes:
        transition: What is judged.
        until: End of what was looked at, on the readings' clock.
        detect_seconds: From the onset of the change to the transition.
        adapt_seconds: From the onset (or else the transition) until the TTFT P99 is settled: from
            then on it stays within 25 % of where it ends.
        overshoot: How far the TTFT P99 went beyond where it ends, as a share of that: 0.5 is half
            as much again.
        hurt: Requests from the onset until settled, or to the end, whose TTFT exceeded the limit;
            None without a limit.
    """

    transition: Transition
    until: float
    detect_seconds: float | None
    adapt_seconds: float | None
    overshoot: float | None
    hurt: RequestsHurt | None


def transition_quality(
    readings: Sequence[Reading],
    transition: Transition,
    *,
    onset: float | None,
    ttft_limit_seconds: float | None,
) -> TransitionQuality:
    """Judge a transition by the readings from its onset to the next transition.

    Args:
        readings: By time; those before the onset are passed over.
        transition: What is judged; its time is on the readings' clock.
        onset: When the load changed: from the experiment if it is known there, or else
            ``transition.since``.
        ttft_limit_seconds: A request above it is hurt.
    """
    begin = transition.time if onset is None else onset
    seen = [reading for reading in readings if reading.time >= begin]
    settled_at, overshoot = _settling(seen)
    until = max((reading.time for reading in seen), default=transition.time)
    hurt = None
    if ttft_limit_seconds is not None:
        last = until if settled_at is None else settled_at
        meanwhile = (reading.ttft for reading in seen if reading.time <= last)
        hurt = requests_hurt([ttft for ttft in meanwhile if ttft is not None], ttft_limit_seconds)
    return TransitionQuality(
        transition=transition,
        until=until,
        detect_seconds=None if onset is None else max(transition.time - onset, 0.0),
        adapt_seconds=None if settled_at is None else settled_at - begin,
        overshoot=overshoot,
        hurt=hurt,
    )


def requests_hurt(windows: Sequence[Latency], limit_seconds: float) -> RequestsHurt:
    """Bounds on how many requests took longer than a limit, from each window's P50 and P99."""
    at_least = at_most = 0
    for window in windows:
        low, high = 0.0, 1.0
        if window.p50 is not None and window.p99 is not None:
            if window.p50.value_seconds > limit_seconds:
                low, high = 0.5, 1.0
            elif window.p50.in_last_bucket:
                low, high = 0.0, 1.0
            elif window.p99.value_seconds > limit_seconds:
                low, high = 0.01, 0.5
            elif not window.p99.in_last_bucket:
                low, high = 0.0, 0.01
        at_least += math.floor(low * window.count)
        at_most += math.ceil(high * window.count)
    return RequestsHurt(at_least, at_most, sum(window.count for window in windows))


def oscillations_per_hour(transitions: Sequence[Transition], begin: float, end: float) -> float:
    """How often a change of regime was taken back by the next one, per hour of [begin, end].

    One step up and one step down again is one oscillation; falling back for want of readings and
    recovering is none.

    Raises:
        ValueError: ``end`` is not after ``begin``.
    """
    if not end > begin:
        raise ValueError(f"the end ({end}) must lie after the begin ({begin})")
    changes = [
        each for each in transitions if each.cause is Cause.LOAD and begin <= each.time <= end
    ]
    reversals = sum(
        1
        for first, second in pairwise(changes)
        if (first.after.rank > first.before.rank) != (second.after.rank > second.before.rank)
    )
    return reversals * 3600.0 / (end - begin)


class QualityTracker:
    """Judges transitions while they happen, from a bounded number of readings."""

    def __init__(
        self,
        *,
        ttft_limit_seconds: float | None = None,
        horizon_seconds: float = 120.0,
        max_readings: int = 1_000,
    ) -> None:
        """Begin with nothing seen.

        Args:
            ttft_limit_seconds: A request above it is hurt; None counts none.
            horizon_seconds: A transition is judged at the next one, and after so long at the
                latest.
            max_readings: Older ones are forgotten.
        """
        self._limit = ttft_limit_seconds
        self._horizon = horizon_seconds
        self._readings: deque[Reading] = deque(maxlen=max_readings)
        self._open: Transition | None = None

    def see(self, reading: Reading, transition: Transition | None) -> TransitionQuality | None:
        """Take a reading and the transition that it led to, if any.

        Returns:
            The quality of the transition before, once it can be judged.
        """
        # Without the workers, of which there may be thousands.
        self._readings.append(replace(reading, workers=None))
        if transition is not None:
            finished = self._judge(self._open)
            self._open = transition
            return finished
        if self._open is not None and not (0.0 <= reading.time - self._open.time < self._horizon):
            finished = self._judge(self._open)
            self._open = None
            return finished
        return None

    def _judge(self, transition: Transition | None) -> TransitionQuality | None:
        if transition is None or transition.cause is not Cause.LOAD:
            return None
        return transition_quality(
            self._readings,
            transition,
            onset=transition.since,
            ttft_limit_seconds=self._limit,
        )


def _settling(readings: Sequence[Reading]) -> tuple[float | None, float | None]:
    return settling(
        [
            (reading.time, reading.ttft.p99.value_seconds)
            for reading in readings
            if reading.ttft is not None
            and reading.ttft.p99 is not None
            and math.isfinite(reading.ttft.p99.value_seconds)
        ]
    )


def settling(series: Sequence[tuple[float, float]]) -> tuple[float | None, float | None]:
    """When a quantity settled, and how far it went beyond where it ends, as a share of that.

    It ends at the median of its last quarter. If not even that quarter keeps within the band, it
    has not settled, and both are None; so they are with fewer than eight values.

    Args:
        series: Time and value, by time.
    """
    if len(series) < 8:
        return None, None
    values = [value for _, value in series]
    final = float(np.median(values[-(len(values) // 4) :]))
    if not final > 0:
        return None, None
    outside = [
        index for index, value in enumerate(values) if abs(value - final) > SETTLED_BAND * final
    ]
    first = outside[-1] + 1 if outside else 0
    if first > len(values) * 3 // 4:
        return None, None
    return series[first][0], max(max(values) / final - 1.0, 0.0)
