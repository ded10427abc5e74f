"""Readings from the frontend that this process runs: decisions and finished requests."""

from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dynamo_regime.control.reading import Latency, Quantile, Reading
from dynamo_regime.control.signals.frontend import Frontend
from dynamo_regime.control.signals.source import MINIMUM_COUNT
from dynamo_regime.control.signals.worker_loads import WorkerLoads
from dynamo_regime.target import Decisions, FinishedRequests

_SPEED_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class _Drained:
    """One drain, less what a window has no use for."""

    begin: float
    end: float
    decisions: int
    prompt_blocks: float
    chosen_blocks: float
    best_blocks: float
    ttft_seconds: NDArray[np.float64]
    itl_seconds: NDArray[np.float64]
    prefilled_tokens: float
    prefill_seconds: float
    dropped: int


class InProcess:
    """The default source: no network, no histogram; quantiles are of the latencies themselves.

    To be read every 250 ms or so. What was decided and finished is counted in the window in which
    it was drained, so that no clock but the caller's matters.
    """

    problem = ""

    def __init__(
        self,
        frontend: Frontend,
        window_seconds: float,
        block_size_tokens: int | None,
        *,
        kv_blocks: float | None = None,
        minimum_count: int = MINIMUM_COUNT,
    ) -> None:
        """Read ``frontend``, which nobody else may drain.

        Args:
            frontend: What is drained.
            window_seconds: Over which latencies and rates are taken.
            block_size_tokens: Tokens in a KV-cache block; a backlog is not known without it.
            kv_blocks: KV-cache blocks that each worker has, if known.
            minimum_count: Fewer latencies than that have no quantiles.
        """
        self._frontend = frontend
        self._window_seconds = window_seconds
        self._minimum_count = minimum_count
        self._drained: deque[_Drained] = deque()
        self._last_time: float | None = None
        self._loads = WorkerLoads(block_size_tokens, kv_blocks)
        self._speeds: deque[tuple[float, float]] = deque()
        self._lost = 0

    @property
    def lost(self) -> int:
        """Decisions and requests that were overwritten before they were drained, ever."""
        return self._lost

    def describe_workers(self, block_size_tokens: int | None, kv_blocks: float | None) -> None:
        """Say what was not known at the start; None keeps what is known."""
        self._loads.describe(block_size_tokens, kv_blocks)

    def read(self, time: float) -> Reading:
        """Drain the frontend and make a reading. The first one begins the window."""
        decisions, requests = self._frontend.decisions(), self._frontend.finished_requests()
        self._lost += decisions.dropped + requests.lagged
        begin, self._last_time = self._last_time, time
        self._loads.decided(time, decisions)
        self._loads.finished(requests)
        if begin is None or begin > time:
            # What was drained is of unknown age; so is what was counted before a clock went back.
            self._drained.clear()
            return Reading(time, self._window_seconds, workers=self._loads.at(time, None))
        self._drained.append(_take(begin, time, decisions, requests))
        while (
            len(self._drained) > 1 and self._drained[0].begin < time - 1.001 * self._window_seconds
        ):
            self._drained.popleft()
        return self._reading(time)

    def _reading(self, time: float) -> Reading:
        parts = self._drained
        window = max(time - parts[0].begin, 0.0)
        prompt_blocks = sum(part.prompt_blocks for part in parts)
        prefill_seconds = sum(part.prefill_seconds for part in parts)
        if prefill_seconds > 0:
            prefilled = sum(part.prefilled_tokens for part in parts)
            self._note_speed(time, prefilled / prefill_seconds)
        speed = self._speeds[0][1] if self._speeds else None
        return Reading(
            time,
            window,
            ttft=self._latency([part.ttft_seconds for part in parts]),
            itl=self._latency([part.itl_seconds for part in parts]),
            workers=self._loads.at(time, speed),
            decision_rate=sum(part.decisions for part in parts) / window if window > 0 else None,
            overlap_chosen=_share(sum(part.chosen_blocks for part in parts), prompt_blocks),
            overlap_best=_share(sum(part.best_blocks for part in parts), prompt_blocks),
            prefill_tokens_per_second=speed,
            dropped=sum(part.dropped for part in parts),
        )

    def _note_speed(self, time: float, speed: float) -> None:
        """Keep the highest speed of the last minutes in front.

        The time that a prefill takes holds the time that it waits within the worker, so that every
        speed is a lower bound, and a poor one while there is a backlog.
        """
        while self._speeds and self._speeds[-1][1] <= speed:
            self._speeds.pop()
        self._speeds.append((time, speed))
        while self._speeds and not 0 <= time - self._speeds[0][0] <= _SPEED_SECONDS:
            self._speeds.popleft()

    def _latency(self, parts: list[NDArray[np.float64]]) -> Latency:
        seconds = np.concatenate(parts)
        if seconds.size < max(self._minimum_count, 1):
            return Latency(seconds.size)
        p50, p99 = np.quantile(seconds, [0.50, 0.99], method="inverted_cdf")
        return Latency(seconds.size, Quantile(float(p50)), Quantile(float(p99)))


def _take(begin: float, end: float, decisions: Decisions, requests: FinishedRequests) -> _Drained:
    cached = decisions.request_blocks, decisions.overlap_blocks, decisions.best_overlap_blocks
    known = np.isfinite(np.stack(cached)).all(axis=0)
    prompt, chosen, best = (float(column[known].sum()) for column in cached)
    prefilled = requests.input_tokens - np.nan_to_num(requests.cached_tokens)
    timed = np.isfinite(prefilled) & np.isfinite(requests.prefill_seconds) & (prefilled > 0)
    return _Drained(
        begin,
        end,
        len(decisions),
        prompt,
        chosen,
        best,
        _usable(requests.ttft_seconds),
        _usable(requests.mean_itl_seconds),
        float(prefilled[timed].sum()),
        float(requests.prefill_seconds[timed].sum()),
        decisions.dropped + requests.lagged,
    )


def _usable(seconds: NDArray[np.float64]) -> NDArray[np.float64]:
    return seconds[np.isfinite(seconds) & (seconds >= 0)]


def _share(part: float, whole: float) -> float | None:
    return min(part / whole, 1.0) if whole > 0 else None
