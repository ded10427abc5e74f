"""One reading of the whole fleet from those of its members."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from dynamo_regime.control.fleet.exchange import Slot
from dynamo_regime.control.fleet.records import Report
from dynamo_regime.control.reading import Latency, Quantile, Reading, WorkerLoad


class FreshReports:
    """The members' latest reports, each for a while after its revision was first seen.

    A member's own clock says nothing here, so age is counted from when a report came to be seen.
    """

    def __init__(self, report_seconds: float, loads_are_shared: bool) -> None:
        """Start without reports.

        Args:
            report_seconds: For how long a report counts.
            loads_are_shared: As in :func:`merge`.
        """
        self._report_seconds = report_seconds
        self._loads_are_shared = loads_are_shared
        self._seen: dict[str, tuple[float, Slot[Report]]] = {}

    def observe(self, time: float, reports: Mapping[str, Slot[Report]]) -> None:
        """Take in what is in the bucket; a member that is no longer there is forgotten."""
        before = self._seen
        self._seen = {}
        for member, slot in reports.items():
            known = before.get(member)
            unchanged = known is not None and known[1].revision == slot.revision
            self._seen[member] = known if known is not None and unchanged else (time, slot)

    def merged(self, time: float) -> Reading | None:
        """All fresh readings as one at ``time``; None if there is none."""
        return merge(
            time,
            [
                slot.value.reading
                for since, slot in self._seen.values()
                if slot.value is not None
                and slot.value.reading is not None
                and time - since < self._report_seconds
            ],
            loads_are_shared=self._loads_are_shared,
        )


def merge(time: float, readings: Iterable[Reading], *, loads_are_shared: bool) -> Reading | None:
    """Several frontends' readings as one.

    Counts, rates and queues are added. A quantile is the largest of those that members tell: an
    upper bound of that of their requests together, and equal to it where they agree. Cache shares
    and speeds are means, weighted by decisions. What only some members know is made of those.

    Args:
        time: Of the result.
        readings: Of the members; their times are on clocks of their own and do not count.
        loads_are_shared: Every frontend sees the whole load of a worker (Dynamo's replica sync), so
            the largest report is taken; otherwise each sees its own share, and they are added.

    Returns:
        None of nothing.
    """
    parts = list(readings)
    if not parts:
        return None
    return Reading(
        time=time,
        window=max(part.window for part in parts),
        ttft=_latency([part.ttft for part in parts]),
        itl=_latency([part.itl for part in parts]),
        workers=_workers([part.workers for part in parts], loads_are_shared),
        queue_length=_sum([part.queue_length for part in parts]),
        decision_rate=_sum([part.decision_rate for part in parts]),
        overlap_chosen=_mean(parts, [part.overlap_chosen for part in parts]),
        overlap_best=_mean(parts, [part.overlap_best for part in parts]),
        prefill_tokens_per_second=_mean(parts, [part.prefill_tokens_per_second for part in parts]),
        dropped=sum(part.dropped for part in parts),
    )


def _latency(parts: list[Latency | None]) -> Latency | None:
    present = [part for part in parts if part is not None]
    if not present:
        return None
    return Latency(
        count=sum(part.count for part in present),
        p50=_largest([part.p50 for part in present]),
        p99=_largest([part.p99 for part in present]),
    )


def _largest(parts: list[Quantile | None]) -> Quantile | None:
    present = [part for part in parts if part is not None]
    if not present:
        return None
    return Quantile(
        max(part.value_seconds for part in present),
        in_last_bucket=any(part.in_last_bucket for part in present),
    )


def _workers(
    parts: list[tuple[WorkerLoad, ...] | None], loads_are_shared: bool
) -> tuple[WorkerLoad, ...] | None:
    present = [part for part in parts if part is not None]
    if not present:
        return None
    by_worker: dict[tuple[int, int], WorkerLoad] = {}
    for load in (load for part in present for load in part):
        key = (load.worker_id, load.dp_rank)
        known = by_worker.get(key)
        by_worker[key] = load if known is None else _together(known, load, loads_are_shared)
    return tuple(by_worker[key] for key in sorted(by_worker))


def _together(one: WorkerLoad, other: WorkerLoad, loads_are_shared: bool) -> WorkerLoad:
    def both(a: float | None, b: float | None) -> float | None:
        if a is None or b is None:
            return b if a is None else a
        return max(a, b) if loads_are_shared else a + b

    return replace(
        one,
        prefill_tokens=both(one.prefill_tokens, other.prefill_tokens),
        decode_blocks=both(one.decode_blocks, other.decode_blocks),
        active_requests=both(one.active_requests, other.active_requests),
        pool=one.pool if one.pool is not None else other.pool,
        kv_blocks=one.kv_blocks if one.kv_blocks is not None else other.kv_blocks,
    )


def _sum(values: list[float | None]) -> float | None:
    present = [value for value in values if value is not None]
    return sum(present) if present else None


def _mean(parts: list[Reading], values: list[float | None]) -> float | None:
    weighted = [
        (part.decision_rate if part.decision_rate is not None else 1.0, value)
        for part, value in zip(parts, values, strict=True)
        if value is not None
    ]
    weight = sum(weight for weight, _ in weighted)
    if weight <= 0:
        # Nobody has decided anything: what they know is of old requests, and equally good.
        weighted, weight = [(1.0, value) for _, value in weighted], float(len(weighted))
    return sum(weight * value for weight, value in weighted) / weight if weighted else None
