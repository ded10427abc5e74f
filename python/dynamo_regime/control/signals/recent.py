"""What was decided and finished within the last seconds, as a reading."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from dynamo_regime.control.reading import Latency, Quantile, Reading, WorkerLoad
from dynamo_regime.control.signals.prefill_speed import Prefills, PrefillSpeed
from dynamo_regime.target import Decisions


@dataclass(frozen=True, slots=True)
class Interval:
    """What happened between two looks.

    Attributes:
        begin: When it began, in seconds on the caller's clock.
        end: When it ended.
        decisions: Routing decisions.
        prompt_blocks: Blocks of the prompts of which it is known what was cached where.
        chosen_blocks: Of these, the ones cached on the chosen worker.
        best_blocks: Of these, the ones cached on the best worker for each request.
        ttft_seconds: Times to first token.
        itl_seconds: Mean inter-token latencies of requests.
        prefills: Those that ended.
        dropped: Records that were lost before anybody read them.
    """

    begin: float
    end: float
    decisions: int
    prompt_blocks: float
    chosen_blocks: float
    best_blocks: float
    ttft_seconds: NDArray[np.float64]
    itl_seconds: NDArray[np.float64]
    prefills: Prefills
    dropped: int

    @classmethod
    def of(
        cls,
        begin: float,
        end: float,
        decisions: Decisions,
        *,
        ttft_seconds: NDArray[np.float64],
        itl_seconds: NDArray[np.float64],
        prefills: Prefills,
        lost: int,
    ) -> Self:
        """From columns, in which what is not known is NaN.

        Args:
            begin: When the interval began.
            end: When it ended.
            decisions: Made in it.
            ttft_seconds: Of the requests that count for it.
            itl_seconds: Of the requests that count for it.
            prefills: That ended in it.
            lost: Requests that are missing.
        """
        cached = decisions.request_blocks, decisions.overlap_blocks, decisions.best_overlap_blocks
        known = np.isfinite(np.stack(cached)).all(axis=0)
        prompt, chosen, best = (float(column[known].sum()) for column in cached)
        return cls(
            begin,
            end,
            len(decisions),
            prompt,
            chosen,
            best,
            _usable(ttft_seconds),
            _usable(itl_seconds),
            prefills,
            decisions.dropped + lost,
        )


class Recent:
    """The intervals of the last ``window_seconds``."""

    def __init__(self, window_seconds: float, minimum_count: int) -> None:
        """Start without an interval.

        Args:
            window_seconds: Over which latencies and rates are taken.
            minimum_count: Fewer latencies than that have no quantiles.
        """
        self._window_seconds = window_seconds
        self._minimum_count = minimum_count
        self._intervals: deque[Interval] = deque()
        self._speed = PrefillSpeed(window_seconds)

    def clear(self) -> None:
        """Begin anew, but for the speed of prefill."""
        self._intervals.clear()

    def add(self, interval: Interval) -> None:
        """Take in the interval that ends now."""
        self._intervals.append(interval)
        self._speed.add(interval.end, interval.prefills)
        begin = interval.end - 1.001 * self._window_seconds
        while len(self._intervals) > 1 and self._intervals[0].begin < begin:
            self._intervals.popleft()

    def reading(
        self, time: float, workers: Callable[[float | None], tuple[WorkerLoad, ...] | None]
    ) -> Reading:
        """The reading at ``time``, at which the latest interval has ended.

        Args:
            time: In seconds on the caller's clock.
            workers: The workers' loads, given the tokens that one prefills per second.
        """
        parts = self._intervals
        window = max(time - parts[0].begin, 0.0)
        prompt_blocks = sum(part.prompt_blocks for part in parts)
        speed = self._speed.at(time)
        return Reading(
            time,
            window,
            ttft=self._latency([part.ttft_seconds for part in parts]),
            itl=self._latency([part.itl_seconds for part in parts]),
            workers=workers(speed),
            decision_rate=sum(part.decisions for part in parts) / window if window > 0 else None,
            overlap_chosen=_share(sum(part.chosen_blocks for part in parts), prompt_blocks),
            overlap_best=_share(sum(part.best_blocks for part in parts), prompt_blocks),
            prefill_tokens_per_second=speed,
            dropped=sum(part.dropped for part in parts),
        )

    def _latency(self, parts: list[NDArray[np.float64]]) -> Latency:
        seconds = np.concatenate(parts)
        if seconds.size < max(self._minimum_count, 1):
            return Latency(seconds.size)
        p50, p99 = np.quantile(seconds, [0.50, 0.99], method="inverted_cdf")
        return Latency(seconds.size, Quantile(float(p50)), Quantile(float(p99)))


def _usable(seconds: NDArray[np.float64]) -> NDArray[np.float64]:
    return seconds[np.isfinite(seconds) & (seconds >= 0)]


def _share(part: float, whole: float) -> float | None:
    return min(part / whole, 1.0) if whole > 0 else None
