"""What each worker has in hand, estimated from decisions and finished requests.

A decision says what the chosen worker had in hand just before it. Between two decisions on a worker
its prefill backlog is taken to shrink at the speed that workers prefill with, and its blocks and
requests by those of the requests that finish; with the last of them all of its load is gone. The
next decision sets all of it right.
"""

import math
from dataclasses import dataclass

import numpy as np

from dynamo_regime.control.reading import WorkerLoad
from dynamo_regime.target import Decisions, FinishedRequests

_FORGET_SECONDS = 60.0


@dataclass(slots=True)
class _Known:
    decided_at: float  # on the caller's clock
    decided_unix: float  # since the UNIX epoch
    prefill_blocks: float
    decode_blocks: float
    active_requests: float | None


class WorkerLoads:
    """Every worker that was chosen within the last minute, with an estimate of its load."""

    def __init__(self, block_size_tokens: int | None, kv_blocks: float | None) -> None:
        """Start without workers.

        Args:
            block_size_tokens: Tokens in a KV-cache block, if known.
            kv_blocks: KV-cache blocks that each worker has, if known.
        """
        self._block_size = block_size_tokens
        self._kv_blocks = kv_blocks
        self._workers: dict[tuple[int, int, str], _Known] = {}
        self._speed: float | None = None

    def describe(self, block_size_tokens: int | None, kv_blocks: float | None) -> None:
        """Say what was not known before; None keeps what is known."""
        self._block_size = block_size_tokens or self._block_size
        self._kv_blocks = kv_blocks or self._kv_blocks

    def decided(self, time: float, decisions: Decisions) -> None:
        """Take in decisions that were drained at ``time``; of each worker the latest counts."""
        chosen = zip(
            decisions.worker_id.tolist(),
            decisions.dp_rank.tolist(),
            decisions.pool.tolist(),
            strict=True,
        )
        for key, row in {key: row for row, key in enumerate(chosen)}.items():
            pool = key[2]
            request = float(np.nan_to_num(decisions.request_blocks[row]))
            cached = float(np.nan_to_num(decisions.overlap_blocks[row]))
            # Prefill of a request that goes to a decode worker has been done elsewhere.
            to_prefill = max(request - cached, 0.0) if pool != "decode" else 0.0
            held = request if pool != "prefill" else 0.0
            running = float(decisions.active_requests[row])
            backlog = float(decisions.prefill_blocks[row]) + to_prefill
            self._workers[key] = _Known(
                decided_at=time,
                decided_unix=float(decisions.time_ns[row]) / 1e9,
                prefill_blocks=backlog,
                decode_blocks=float(decisions.active_blocks[row]) + held,
                active_requests=running + 1 if math.isfinite(running) else None,
            )

    def finished(self, requests: FinishedRequests) -> None:
        """Take what finished requests held off the workers that decoded them."""
        tokens = np.nan_to_num(requests.input_tokens) + np.nan_to_num(requests.output_tokens)
        ended = zip(
            requests.decode_worker_id,
            requests.decode_dp_rank,
            requests.finished_at.tolist(),
            tokens.tolist(),
            strict=True,
        )
        for worker, rank, finished_at, held in ended:
            if worker is None:
                continue
            for pool in ("aggregated", "decode"):
                known = self._workers.get((worker, rank or 0, pool))
                # What had ended by then is not in what the decision saw.
                if known is not None and not finished_at <= known.decided_unix:
                    if self._block_size is not None:
                        blocks = known.decode_blocks - held / self._block_size
                        known.decode_blocks = max(blocks, 0.0)
                    if known.active_requests is not None:
                        known.active_requests = max(known.active_requests - 1, 0.0)
                        if known.active_requests == 0:
                            known.prefill_blocks = known.decode_blocks = 0.0

    def at(self, time: float, speed: float | None) -> tuple[WorkerLoad, ...] | None:
        """The loads at ``time``; None if no worker is known.

        Args:
            time: On the clock of :meth:`decided`.
            speed: Tokens that a worker prefills per second; None if none was seen lately.
        """
        self._speed = speed if speed is not None else self._speed
        self._workers = {
            key: known
            for key, known in self._workers.items()
            if 0 <= time - known.decided_at <= _FORGET_SECONDS
        }
        if not self._workers:
            return None
        return tuple(self._load(time, key, known) for key, known in sorted(self._workers.items()))

    def _load(self, time: float, key: tuple[int, int, str], known: _Known) -> WorkerLoad:
        worker, rank, pool = key
        tokens = None
        if self._block_size is not None:
            shrunk = (self._speed or 0.0) * (time - known.decided_at)
            tokens = max(known.prefill_blocks * self._block_size - shrunk, 0.0)
        return WorkerLoad(
            worker,
            rank,
            prefill_tokens=tokens,
            decode_blocks=known.decode_blocks,
            active_requests=known.active_requests,
            pool=pool,
            kv_blocks=self._kv_blocks,
        )
