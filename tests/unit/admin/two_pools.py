"""A router with a prefill and a decode pool, in memory."""

import math
from dataclasses import replace

import numpy as np

from dynamo_regime import Decisions, InputError, PolicyError, PoolPolicy, UnknownPoolError

START = [
    PoolPolicy("prefill", "cold", temperature=0.0, prefill_weight=1.0, version=1),
    PoolPolicy("decode", "wärm", temperature=0.5, prefill_weight=0.25, version=1),
]


class TwoPools:
    """Satisfies ``PolicyTarget``; remembers nothing but the present policies."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self._policies = list(START)

    def policies(self) -> list[PoolPolicy]:
        return list(self._policies)

    def swap(
        self,
        *,
        temperature: float | None = None,
        prefill_weight: float | None = None,
        pool: str | None = None,
        instance: str | None = None,
    ) -> list[PoolPolicy]:
        given = [value for value in (temperature, prefill_weight) if value is not None]
        if not given or not all(math.isfinite(value) and value >= 0 for value in given):
            raise PolicyError("a swap needs a temperature, a prefill_weight or both")
        chosen = [
            index
            for index, policy in enumerate(self._policies)
            if pool in (None, policy.pool) and instance in (None, policy.instance)
        ]
        if not chosen:
            raise UnknownPoolError(f"there is no pool {pool!r}; the pools are prefill and decode")
        for index in chosen:
            old = self._policies[index]
            self._policies[index] = replace(
                old,
                temperature=old.temperature if temperature is None else temperature,
                prefill_weight=old.prefill_weight if prefill_weight is None else prefill_weight,
                version=old.version + 1,
            )
        return [self._policies[index] for index in chosen]

    def recent_decisions(self, limit: int) -> Decisions:
        if limit < 0:
            raise InputError("limit must not be negative")
        return decisions(rows=min(limit, 3))


def decisions(rows: int) -> Decisions:
    """So many decisions, whose numbers are at the ends of what their types hold."""

    def column(value: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        return np.full(rows, value)

    return Decisions(
        time_ns=np.full(rows, 2**64 - 1, np.uint64),
        version=np.arange(1, rows + 1, dtype=np.uint64),
        temperature=column(5e-324),
        prefill_weight=column(1.7976931348623157e308),
        worker_id=np.full(rows, 2**63 + 1, np.uint64),
        dp_rank=np.full(rows, 2**32 - 1, np.uint32),
        candidates=np.full(rows, 5, np.uint32),
        cost=column(0.1),
        min_cost=column(-0.0),
        max_cost=column(1e300),
        prefill_blocks=column(3.0),
        active_blocks=column(4.0),
        request_blocks=column(math.nan),
        active_requests=column(math.nan),
        overlap_blocks=column(math.nan),
        best_overlap_blocks=column(math.nan),
        elapsed_seconds=column(2.5e-7),
        pool=np.full(rows, "prefill"),
        dropped=7,
    )
