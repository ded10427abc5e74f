"""What can be asked of a running router, whichever of the two wheels runs it.

Both extension modules answer with the values defined here rather than with compiled classes of
their own, so that one type checks out whoever answered.
"""

import dataclasses
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class PoolPolicy:
    """The policy that one pool of workers is routed by.

    Attributes:
        pool: The workers' role: ``aggregated``, ``prefill``, ``decode`` or ``encode``.
        instance: Name of the policy instance, as in the router-policy file.
        temperature: Softmax temperature τ over range-normalised costs; 0 takes the cheapest worker.
        prefill_weight: Weight ω of prefill blocks against active blocks in a worker's cost.
        version: 1 for the policy a pool starts with, one more with every swap.
    """

    pool: str
    instance: str
    temperature: float
    prefill_weight: float
    version: int


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Decisions:
    """Routing decisions as columns: one row per decision, oldest first.

    Every array has shape ``(len(self),)`` and belongs to the caller. Blocks are KV-cache blocks.
    A fact that the router did not know is NaN.

    Attributes:
        time_ns: When it was decided, in nanoseconds since the UNIX epoch.
        version: Version of the policy that decided.
        temperature: Temperature τ that was applied.
        prefill_weight: Prefill weight ω that was applied.
        worker_id: The chosen worker; for ``Router`` its index in the arrays.
        dp_rank: Data-parallel rank of the chosen worker.
        candidates: How many workers there were to choose from.
        cost: Cost of the chosen worker, in active blocks; in mode toll in prefill tokens.
        min_cost: Lowest cost of all candidates.
        max_cost: Highest cost of all candidates.
        prefill_blocks: Prefill blocks of the chosen worker.
        active_blocks: Active blocks of the chosen worker.
        request_blocks: Prompt length of the request, in blocks.
        active_requests: Running requests on the chosen worker.
        overlap_blocks: Prompt blocks cached on the chosen worker's device.
        best_overlap_blocks: The most prompt blocks cached on any candidate's device.
        elapsed_seconds: How long the choice took; every 64th is timed in a frontend, none in
            ``Router``.
        pool: Pool that was routed.
        dropped: Decisions that are missing, since they were overwritten before they were read; 0 in
            ``recent_decisions``, which reads whatever is there.
    """

    time_ns: NDArray[np.uint64]
    version: NDArray[np.uint64]
    temperature: NDArray[np.float64]
    prefill_weight: NDArray[np.float64]
    worker_id: NDArray[np.uint64]
    dp_rank: NDArray[np.uint32]
    candidates: NDArray[np.uint32]
    cost: NDArray[np.float64]
    min_cost: NDArray[np.float64]
    max_cost: NDArray[np.float64]
    prefill_blocks: NDArray[np.float64]
    active_blocks: NDArray[np.float64]
    request_blocks: NDArray[np.float64]
    active_requests: NDArray[np.float64]
    overlap_blocks: NDArray[np.float64]
    best_overlap_blocks: NDArray[np.float64]
    elapsed_seconds: NDArray[np.float64]
    pool: NDArray[np.str_]
    dropped: int

    def __len__(self) -> int:
        """Number of rows."""
        return self.time_ns.size

    def __repr__(self) -> str:
        """The size only: the rows are for numpy and pandas."""
        return f"Decisions(rows={len(self)}, dropped={self.dropped})"

    def to_dict(self) -> dict[str, NDArray[Any]]:
        """The columns by name, as ``pandas.DataFrame`` and ``polars.DataFrame`` take them."""
        columns = (field.name for field in dataclasses.fields(self) if field.name != "dropped")
        return {name: getattr(self, name) for name in columns}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FinishedRequests:
    """What came of requests, as columns: one row per finished request, oldest first.

    Every column has ``len(self)`` entries. Times are in seconds, ``*_at`` since the UNIX epoch. A
    number that Dynamo did not report is NaN, an id or a name None.

    Attributes:
        request_id: Dynamo's id of the request.
        model: Model that was asked for.
        received_at: When the request came in.
        finished_at: When it ended.
        ttft_seconds: Time to first token.
        total_seconds: Time to the last token.
        mean_itl_seconds: Mean inter-token latency.
        prefill_wait_seconds: Time it waited for its prefill.
        prefill_seconds: Time its prefill took.
        input_tokens: Prompt length.
        cached_tokens: Of these, how many were cached.
        output_tokens: Answer length.
        kv_hit_rate: Cached share of the prompt, by the router's estimate.
        queue_depth: Requests in the router's queue when it was routed.
        prefill_worker_id: Worker that prefilled it.
        prefill_dp_rank: Data-parallel rank of that worker.
        decode_worker_id: Worker that decoded it.
        decode_dp_rank: Data-parallel rank of that worker.
        sequence_hashes: Chained hashes of the prompt's blocks, dtype uint64, for a replay; the last
            block may not be full.
        block_tokens: Tokens of such a block.
        lagged: Requests that are missing, since they were not read in time.
    """

    request_id: list[str]
    model: list[str | None]
    received_at: NDArray[np.float64]
    finished_at: NDArray[np.float64]
    ttft_seconds: NDArray[np.float64]
    total_seconds: NDArray[np.float64]
    mean_itl_seconds: NDArray[np.float64]
    prefill_wait_seconds: NDArray[np.float64]
    prefill_seconds: NDArray[np.float64]
    input_tokens: NDArray[np.float64]
    cached_tokens: NDArray[np.float64]
    output_tokens: NDArray[np.float64]
    kv_hit_rate: NDArray[np.float64]
    queue_depth: NDArray[np.float64]
    prefill_worker_id: list[int | None]
    prefill_dp_rank: list[int | None]
    decode_worker_id: list[int | None]
    decode_dp_rank: list[int | None]
    sequence_hashes: list[NDArray[np.uint64]]
    block_tokens: NDArray[np.float64]
    lagged: int

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.request_id)

    def __repr__(self) -> str:
        """The size only: the rows are for numpy and pandas."""
        return f"FinishedRequests(rows={len(self)}, lagged={self.lagged})"


class PolicyTarget(Protocol):
    """A router that can be watched and re-tuned while it runs."""

    def policies(self) -> list[PoolPolicy]:
        """The present policy of every pool."""
        ...

    def swap(
        self,
        *,
        temperature: float | None = None,
        prefill_weight: float | None = None,
        pool: str | None = None,
        instance: str | None = None,
    ) -> list[PoolPolicy]:
        """Change the policy of the named pool or instance, or of all; the next request feels it.

        What is None keeps its value. The change is validated whole before any of it is published.

        Returns:
            The new policy of every pool that changed.

        Raises:
            PolicyError: A value is negative, infinite or NaN, or no value is given.
            UnknownPoolError: There is no such pool or instance.
        """
        ...

    def recent_decisions(self, limit: int) -> Decisions:
        """The latest decisions of all pools, at most ``limit``; takes none of them away.

        Raises:
            InputError: ``limit`` is negative.
        """
        ...
