"""Readings from the frontend that this process runs: decisions and finished requests."""

from collections.abc import Callable

import numpy as np

from dynamo_regime.control.reading import Reading
from dynamo_regime.control.signals.frontend import Frontend
from dynamo_regime.control.signals.prefill_speed import Prefills
from dynamo_regime.control.signals.recent import Interval, Recent
from dynamo_regime.control.signals.source import MINIMUM_COUNT
from dynamo_regime.control.signals.worker_loads import WorkerLoads
from dynamo_regime.target import Decisions, FinishedRequests


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
        decided: Callable[[Decisions], None] = lambda _: None,
        finished: Callable[[FinishedRequests], None] = lambda _: None,
    ) -> None:
        """Read ``frontend``, which nobody else may drain.

        Args:
            frontend: What is drained.
            window_seconds: Over which latencies and rates are taken.
            block_size_tokens: Tokens in a KV-cache block; a backlog is not known without it.
            kv_blocks: KV-cache blocks that each worker has, if known.
            minimum_count: Fewer latencies than that have no quantiles.
            decided: Is shown the decisions of every drain.
            finished: Is shown the finished requests of every drain.
        """
        self._frontend = frontend
        self._window_seconds = window_seconds
        self._recent = Recent(window_seconds, minimum_count)
        self._last_time: float | None = None
        self._loads = WorkerLoads(block_size_tokens, kv_blocks)
        self._decided = decided
        self._finished = finished
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
        self._decided(decisions)
        self._finished(requests)
        self._loads.decided(time, decisions)
        self._loads.finished(requests)
        if begin is None or begin > time:
            # What was drained is of unknown age; so is what was counted before a clock went back.
            self._recent.clear()
            return Reading(time, self._window_seconds, workers=self._loads.at(time, None))
        self._recent.add(
            Interval.of(
                begin,
                time,
                decisions,
                ttft_seconds=requests.ttft_seconds,
                itl_seconds=requests.mean_itl_seconds,
                prefills=_prefills(requests),
                lost=requests.lagged,
            )
        )
        return self._recent.reading(time, lambda speed: self._loads.at(time, speed))


def _prefills(requests: FinishedRequests) -> Prefills:
    workers = requests.prefill_worker_id
    known = np.array([worker is not None for worker in workers], dtype=np.bool_)
    return Prefills(
        worker=np.array([worker or 0 for worker in workers], dtype=np.uint64),
        end_seconds=np.where(known, requests.received_at + requests.ttft_seconds, np.nan),
        uncached_tokens=requests.input_tokens - np.nan_to_num(requests.cached_tokens),
        seconds=requests.prefill_seconds,
    )
