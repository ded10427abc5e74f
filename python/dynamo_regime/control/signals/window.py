"""The last seconds of a frontend's metrics, as a reading."""

from collections import deque

from dynamo_regime.control.reading import Reading, WorkerLoad
from dynamo_regime.control.signals import metric_names
from dynamo_regime.control.signals.histogram import latency
from dynamo_regime.control.signals.metric_names import FrontendNames
from dynamo_regime.control.signals.scrape import Growth, Scrape, growth, total


class GrowthWindow:
    """Adds up what a frontend's counters gained within the last ``window_seconds``."""

    def __init__(self, window_seconds: float) -> None:
        """Start without a scrape."""
        self._window = window_seconds
        self._baseline: Scrape | None = None
        self._baseline_time = 0.0
        self._stretches: deque[tuple[float, float, Growth]] = deque()  # begin, end, what was added

    def add(self, time: float, scrape: Scrape) -> None:
        """Take in a scrape made at ``time``.

        After a gap of more than two windows, and after a clock that went back, it begins anew: what
        was added in between is not of the last seconds.
        """
        baseline, elapsed = self._baseline, time - self._baseline_time
        if baseline is not None and 0 < elapsed <= 2 * self._window:
            self._stretches.append((self._baseline_time, time, growth(scrape, baseline)))
        else:
            self._stretches.clear()
        self._baseline = scrape if baseline is None else scrape.after(baseline)
        self._baseline_time = time
        # The stretches that lie within the window, and the newest whatever its length.
        while len(self._stretches) > 1 and self._stretches[0][0] < time - 1.001 * self._window:
            self._stretches.popleft()

    def grown(self) -> tuple[float, Growth] | None:
        """How many seconds it covers and what was added in them; None before the second scrape."""
        if not self._stretches:
            return None
        seconds = self._stretches[-1][1] - self._stretches[0][0]
        return seconds, total(part for _, _, part in self._stretches)


def reading_of(
    time: float,
    window: float,
    grown: Growth | None,
    names: FrontendNames,
    minimum_count: float,
    *,
    workers: tuple[WorkerLoad, ...] | None,
    queue_length: float | None,
) -> Reading:
    """The reading that metrics amount to.

    Args:
        time: Of the reading.
        window: In which ``grown`` was added, in seconds.
        grown: None if there is no telling yet.
        names: Of the frontend's metrics.
        minimum_count: Fewer latencies than that have no quantiles.
        workers: As in the reading.
        queue_length: As in the reading.
    """
    if grown is None:
        return Reading(time, window, workers=workers, queue_length=queue_length)
    decisions = grown.counters[metric_names.DECISIONS]
    return Reading(
        time,
        window,
        ttft=latency(grown.histograms[names.ttft], minimum_count),
        itl=latency(grown.histograms[names.itl], minimum_count),
        workers=workers,
        queue_length=queue_length,
        decision_rate=decisions / window if decisions is not None else None,
        overlap_chosen=_share_of_prompts(grown, metric_names.CHOSEN_TOKENS),
        overlap_best=_share_of_prompts(grown, metric_names.BEST_TOKENS),
    )


def _share_of_prompts(grown: Growth, metric: str) -> float | None:
    tokens = grown.counters[metric]
    prompts = grown.counters[metric_names.PROMPT_TOKENS]
    if tokens is None or not prompts:
        return None
    return min(tokens / prompts, 1.0)  # The two are not read at the same instant.
