"""The latest finished requests, for any number of readers."""

import math
import threading
import time
from collections import deque
from dataclasses import dataclass
from typing import Any

from dynamo_regime.target import FinishedRequests

MOST_REQUESTS = 8_192
MOST_HASHES = 4_194_304
"""Of 8 bytes each: 32 MiB."""


@dataclass(frozen=True, slots=True)
class FinishedPage:
    """Some finished requests.

    Attributes:
        since_unix: When the log began, in seconds since the UNIX epoch; tells logs apart.
        last: Number of the latest request; 0 before the first.
        requests: Number and :func:`request_end` of each, oldest first. Numbers that are left out
            are of requests that were lost.
    """

    since_unix: float
    last: int
    requests: list[tuple[int, dict[str, Any]]]


class FinishedLog:
    """Numbers finished requests from 1 and keeps the latest, whole drains at a time.

    One thread adds, any may read. Beyond ``MOST_REQUESTS`` or ``MOST_HASHES`` the oldest drains are
    let go; the latest is kept, however large it is.
    """

    def __init__(self) -> None:
        """Begin with nothing."""
        self._since_unix = time.time()
        self._lock = threading.Lock()
        self._drains: deque[tuple[int, FinishedRequests]] = deque()
        self._requests = 0
        self._hashes = 0
        self._last = 0

    def add(self, drained: FinishedRequests) -> None:
        """Add what was drained; a number is passed over for each request that was lost before."""
        with self._lock:
            self._last += drained.lagged
            if len(drained) == 0:
                return
            self._drains.append((self._last + 1, drained))
            self._last += len(drained)
            self._requests += len(drained)
            self._hashes += _hashes(drained)
            while len(self._drains) > 1 and (
                self._requests > MOST_REQUESTS or self._hashes > MOST_HASHES
            ):
                _, oldest = self._drains.popleft()
                self._requests -= len(oldest)
                self._hashes -= _hashes(oldest)

    def page(self, limit: int, after: int | None = None) -> FinishedPage:
        """At most ``limit`` requests: the first with a higher number, or by default the latest."""
        with self._lock:
            drains, last = list(self._drains), self._last
        numbered = [
            (first + row, drained, row)
            for first, drained in drains
            if after is None or first + len(drained) - 1 > after
            for row in range(len(drained))
            if after is None or first + row > after
        ]
        chosen = numbered[-limit:] if after is None else numbered[:limit]
        return FinishedPage(
            self._since_unix,
            last,
            [(number, request_end(drained, row)) for number, drained, row in chosen],
        )


def request_end(finished: FinishedRequests, row: int) -> dict[str, Any]:
    """One request in the form of Dynamo's request trace (``dynamo.request.trace.v1``).

    What is not known is left out, as there.
    """
    worker = {
        name: getattr(finished, name)[row]
        for name in (
            "prefill_worker_id",
            "prefill_dp_rank",
            "decode_worker_id",
            "decode_dp_rank",
        )
        if getattr(finished, name)[row] is not None
    }
    counts = {
        "input_tokens": finished.input_tokens,
        "output_tokens": finished.output_tokens,
        "cached_tokens": finished.cached_tokens,
        "queue_depth": finished.queue_depth,
    }
    milliseconds = {
        "request_received_ms": finished.received_at,
        "prefill_wait_time_ms": finished.prefill_wait_seconds,
        "prefill_time_ms": finished.prefill_seconds,
        "ttft_ms": finished.ttft_seconds,
        "total_time_ms": finished.total_seconds,
        "avg_itl_ms": finished.mean_itl_seconds,
    }
    request: dict[str, Any] = {"request_id": finished.request_id[row]}
    if finished.model[row] is not None:
        request["model"] = finished.model[row]
    for name, column in counts.items():
        if math.isfinite(column[row]):
            request[name] = int(column[row])
    for name, column in milliseconds.items():
        if math.isfinite(column[row]):
            value = float(column[row]) * 1e3
            request[name] = round(value) if name == "request_received_ms" else round(value, 6)
    if math.isfinite(finished.kv_hit_rate[row]):
        request["kv_hit_rate"] = float(finished.kv_hit_rate[row])
    if worker:
        request["worker"] = worker
    if math.isfinite(finished.block_tokens[row]):
        request["replay"] = {
            "trace_block_size": int(finished.block_tokens[row]),
            "input_length": request.get("input_tokens", 0),
            "input_sequence_hashes": finished.sequence_hashes[row].tolist(),
        }
    return {
        "schema": "dynamo.request.trace.v1",
        "event_type": "request_end",
        "event_time_unix_ms": round(float(finished.finished_at[row]) * 1e3),
        "event_source": "dynamo",
        "request": request,
    }


def _hashes(drained: FinishedRequests) -> int:
    return sum(hashes.size for hashes in drained.sequence_hashes)
