"""The default detector: what the workers have in hand, tested for a change of level.

Two signals, each with thresholds of its own, and the higher of their load indices counts:

- prefill backlog in seconds: tokens that wait for prefill on a worker, divided by the tokens that a
  worker prefills per second; the time a new request would wait there;
- decode occupancy: the share of a worker's KV-cache blocks that running requests hold.

Each is the mean over the workers of a pool, and the highest of the pools. Unlike a latency, which
is known when a request is through, it is known as soon as the requests have come.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from dynamo_regime.control.detectors.cusum import Cusum, evidence_of_fall, evidence_of_rise
from dynamo_regime.control.detectors.ewma import Ewma
from dynamo_regime.control.detectors.load_settings import LoadSettings, Signal
from dynamo_regime.control.detectors.thresholds import ThresholdLearner, Thresholds, usable
from dynamo_regime.control.reading import Reading, WorkerLoad
from dynamo_regime.control.running_time import RunningTime
from dynamo_regime.control.verdict import Regime, Verdict

DECISION_INTERVAL = 4.0
"""A threshold is crossed when the sum of evidence exceeds this: after five readings at full
evidence, which are 1.25 s. Chosen by measurement, with the test itself: see cusum.py."""

FULL_EVIDENCE_OF_RISE = 3.0
"""Evidence of a rise is full this many times the threshold above it, or at the next threshold. At
1 every longer prompt that occupied one of a few workers for a second was a rise."""

SPEED_WEIGHT = 0.1
LEVEL_WEIGHT = 0.3


class LoadDetector:
    """See the module's docstring.

    For each threshold there is a sum of evidence that the load has crossed it, towards the other
    side from where it is held to be. The level is a smoothed load index (α = 0.3).
    """

    reading_interval_seconds = 0.25
    # The decision interval is the debounce.
    debounce_readings = 1

    def __init__(self, settings: LoadSettings) -> None:
        """Begin in the normal regime."""
        self._settings = settings
        self._speed = Ewma(SPEED_WEIGHT)
        self._level = Ewma(LEVEL_WEIGHT)
        self._since: float | None = None
        self._lower = _Boundary(settings.hysteresis)
        self._upper = _Boundary(settings.hysteresis)
        self._thresholds = dict(settings.thresholds)
        self._learning = None if settings.learn_seconds is None else _Learning(settings)

    @property
    def thresholds(self) -> dict[Signal, Thresholds]:
        """Those in force; empty while they are being learned."""
        return {} if self._learning is not None else dict(self._thresholds)

    def update(self, reading: Reading) -> Verdict:
        """Take the next 250 ms."""
        signals = self._signals(reading)
        if not signals:
            return Verdict(None, None, self._statistic, self._absence(reading))
        if self._learning is not None:
            learned = self._learning.see(reading.time, signals)
            if learned is None:
                return Verdict(None, Regime.NORMAL, 0.0, self._learning.progress)
            self._thresholds, self._learning = learned, None
        judged = [
            _Judged(signal, value, self._thresholds[signal])
            for signal, value in signals.items()
            if signal in self._thresholds
        ]
        if not judged:
            names = " and ".join(self._thresholds)
            return Verdict(None, None, self._statistic, f"{names} cannot be seen any more")
        worst = max(judged, key=lambda each: each.index)
        level = self._level.update(worst.index)
        return Verdict(
            level,
            self._regime(judged, reading.time),
            self._statistic,
            worst.signal.phrase(worst.value),
            self._since,
        )

    def _regime(self, judged: "list[_Judged]", time: float) -> Regime:
        """Test both thresholds."""
        for boundary, sides in (
            (self._lower, [each.at_transition for each in judged]),
            (self._upper, [each.at_saturated for each in judged]),
        ):
            crossed_since = boundary.update(sides, time)
            if crossed_since is not None:
                self._since = crossed_since
        if self._upper.above:
            return Regime.SATURATED
        return Regime.TRANSITION if self._lower.above else Regime.NORMAL

    @property
    def _statistic(self) -> float:
        return max(self._lower.total, self._upper.total)

    def _signals(self, reading: Reading) -> dict[Signal, float]:
        """The signals that this reading has."""
        for seen in usable([reading.prefill_tokens_per_second]):
            if seen > 0:
                self._speed.update(seen)
        speed = self._speed.value or self._settings.prefill_tokens_per_second
        signals = {}
        if speed is not None:
            backlog = _highest_pool_mean(
                (worker, tokens / speed)
                for worker in reading.workers or ()
                for tokens in usable([worker.prefill_tokens])
            )
            if backlog is not None:
                signals[Signal.PREFILL_BACKLOG] = backlog
        occupancy = _highest_pool_mean(
            (worker, blocks / capacity)
            for worker in reading.workers or ()
            for blocks in usable([worker.decode_blocks])
            for capacity in usable([worker.kv_blocks or self._settings.kv_blocks])
            if capacity > 0
        )
        if occupancy is not None:
            signals[Signal.DECODE_OCCUPANCY] = occupancy
        return signals

    def _absence(self, reading: Reading) -> str:
        if not reading.workers:
            return "no worker's load in this reading"
        return (
            "neither the prefill speed nor the number of KV blocks is known: set"
            " detector.prefill_tokens_per_second or detector.kv_blocks"
        )


@dataclass(frozen=True, slots=True)
class _Side:
    """A value and a threshold, and how far from it evidence of a rise and of a fall is full."""

    value: float
    threshold: float
    rise_scale: float
    fall_scale: float


class _Judged:
    """A signal's value beside its thresholds."""

    def __init__(self, signal: Signal, value: float, thresholds: Thresholds) -> None:
        self.signal = signal
        self.value = value
        self.index = thresholds.load_index(value)
        lower, upper = thresholds.transition, thresholds.saturated
        gap = upper - lower
        rise_scale = min(FULL_EVIDENCE_OF_RISE * lower, gap)
        self.at_transition = _Side(value, lower, rise_scale, min(lower, gap))
        self.at_saturated = _Side(value, upper, gap, gap)


class _Boundary:
    """The side of a threshold on which the load is held to be, and the evidence against it."""

    def __init__(self, hysteresis: float) -> None:
        self.above = False
        self._hysteresis = hysteresis
        self._sum = Cusum()

    @property
    def total(self) -> float:
        return self._sum.total

    def update(self, sides: list[_Side], time: float) -> float | None:
        """Since when the load has been on the other side, if that is found out now.

        One signal above its threshold is enough; all must be below theirs.
        """
        if self.above:
            evidence = min(
                evidence_of_fall(each.value, each.threshold, each.fall_scale, self._hysteresis)
                for each in sides
            )
        else:
            evidence = max(
                evidence_of_rise(each.value, each.threshold, each.rise_scale) for each in sides
            )
        self._sum = self._sum.add(evidence, time)
        if self._sum.total <= DECISION_INTERVAL:
            return None
        since = self._sum.since
        self.above = not self.above
        self._sum = Cusum()
        return since


class _Learning:
    """The first ``learn_seconds``, which are held to be normal by definition."""

    def __init__(self, settings: LoadSettings) -> None:
        self._seconds = settings.learn_seconds or 0.0
        self._clock = RunningTime(longest_step_seconds=1.0)
        self._learners: dict[Signal, ThresholdLearner] = {}

    @property
    def progress(self) -> str:
        return f"learning thresholds: {self._clock.seconds:.0f} of {self._seconds:.0f} s"

    def see(self, time: float, signals: dict[Signal, float]) -> dict[Signal, Thresholds] | None:
        """Thresholds once the time is over and there was enough to learn from; None until then."""
        for signal, value in signals.items():
            self._learners.setdefault(signal, signal.learner()).see(value)
        if self._clock.advance(time) < self._seconds:
            return None
        learned = {signal: learner.thresholds() for signal, learner in self._learners.items()}
        return {signal: found for signal, found in learned.items() if found is not None} or None


@dataclass(slots=True)
class _Mean:
    total: float = 0.0
    count: int = 0


def _highest_pool_mean(values: Iterable[tuple[WorkerLoad, float]]) -> float | None:
    pools: dict[str | None, _Mean] = {}
    for worker, value in values:
        mean = pools.setdefault(worker.pool, _Mean())
        mean.total += value
        mean.count += 1
    means = [mean.total / mean.count for mean in pools.values()]
    return max((mean for mean in means if math.isfinite(mean)), default=None)
