"""The regime controller in virtual time: the simulator's samples as its readings."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dynamo_regime.control.controller import Controller
from dynamo_regime.control.events import Event
from dynamo_regime.control.reading import WorkerLoad
from dynamo_regime.control.signals.prefill_speed import Prefills
from dynamo_regime.control.signals.recent import Interval, Recent
from dynamo_regime.control.signals.source import MINIMUM_COUNT
from dynamo_regime.target import Decisions, PoolPolicy

SAMPLE_SECONDS = 0.25
"""Virtual time between two readings, as live."""
_WINDOW_SECONDS = 5.0

PoolSample = tuple[PoolPolicy, int, NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]
"""A pool's policy, a worker's KV blocks, and by worker: prefill tokens, decode blocks, requests."""


class VirtualController:
    """Reads, decides and swaps as the live one does, but for what it knows of the loads.

    Live, the workers' loads are estimated from decisions and finished requests; here they are those
    that the routers go by. A first token counts when it comes, live when its request has ended.
    """

    def __init__(self, controller: Controller) -> None:
        """Run ``controller``, which must be fresh."""
        self.events: list[Event] = []
        self._controller = controller
        self._recent = Recent(_WINDOW_SECONDS, MINIMUM_COUNT)
        self._last_time = 0.0
        self._last_step: float | None = None

    def sample(
        self,
        time: float,
        pools: Sequence[PoolSample],
        ttft_seconds: NDArray[np.float64],
        prefills: tuple[
            NDArray[np.uint64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]
        ],
        itl_seconds: NDArray[np.float64],
        decisions: Decisions,
    ) -> list[tuple[str, float, float]]:
        """Take in a sample.

        Args:
            time: Virtual time in seconds.
            pools: The pools as they are.
            ttft_seconds: Of the first tokens since the last sample.
            prefills: Of each of these: the worker, the time of the token, the prompt tokens that
                were computed, and the seconds from the choice of the worker to the token.
            itl_seconds: Of the requests that have finished since.
            decisions: Made since.

        Returns:
            Swaps as (pool, temperature, prefill weight).
        """
        self._recent.add(
            Interval.of(
                self._last_time,
                time,
                decisions,
                ttft_seconds=ttft_seconds,
                itl_seconds=itl_seconds,
                prefills=Prefills(*prefills),
                lost=0,
            )
        )
        self._last_time = time
        interval = self._controller.reading_interval_seconds
        if self._last_step is not None and time - self._last_step < interval - SAMPLE_SECONDS / 2:
            return []
        self._last_step = time
        reading = self._recent.reading(time, lambda _: _workers(pools))
        step = self._controller.step(time, reading, [policy for policy, *_ in pools])
        self.events.extend(step.events)
        return [(swap.pool, swap.temperature, swap.prefill_weight) for swap in step.swaps]


def _workers(pools: Sequence[PoolSample]) -> tuple[WorkerLoad, ...]:
    return tuple(
        WorkerLoad(
            worker,
            0,
            prefill_tokens=tokens,
            decode_blocks=blocks,
            active_requests=requests,
            pool=policy.pool,
            kv_blocks=kv_blocks,
        )
        for policy, kv_blocks, *columns in pools
        for worker, (tokens, blocks, requests) in enumerate(
            zip(*(column.tolist() for column in columns), strict=True)
        )
    )
