"""Native part of dynamo_regime."""

from typing import Any, Protocol, Self, final, type_check_only

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamo_regime.target import Decisions, PoolPolicy

__all__ = ["BatchDecision", "Decision", "Router", "__version__", "simulate"]

__version__: str
"""Version of the wheel."""

@final
class Router:
    """Chooses a worker for each request under a policy that can be swapped at any time.

    A worker's cost is ω · prefill_blocks + active_blocks, Dynamo's default (arXiv 2606.17081, the
    routing congestion game). At temperature τ = 0 the cheapest worker is taken, ties at random; at
    τ > 0 a worker is drawn with probability ∝ exp(−(cost − min) / ((max − min) · τ)), min and max
    being the lowest and highest cost; all are equally likely where these are equal.

    Any number of threads may select while others swap: a selection sees one policy whole, takes no
    lock, and a thread sees versions that only grow. Each thread keeps its last 4,096 decisions
    (0.5 MiB) until they are read; a thread that starts after another has ended may take over its
    part.
    """

    def __new__(
        cls, *, temperature: float = 0.0, prefill_weight: float = 1.0, seed: int | None = None
    ) -> Self:
        """Make a router.

        Args:
            temperature: Softmax temperature τ, dimensionless; finite, ≥ 0.
            prefill_weight: Weight ω of prefill blocks against active blocks; finite, ≥ 0.
            seed: Seed of the random choices, 0 to 2**64 - 1; None seeds from the operating system.
                With a seed and one thread, the same calls choose the same workers, bit for bit.
                Each further thread draws from a stream of its own, fixed by the seed and by the
                order in which threads first select; a thread that starts after another has ended
                may carry on with that one's stream.

        Raises:
            PolicyError: A value is negative, infinite or NaN.
            InputError: The seed is out of range.
        """

    def select(self, prefill_blocks: ArrayLike, active_blocks: ArrayLike) -> Decision:
        """Choose a worker for one request. O(workers).

        C-contiguous arrays of float64, float32, int64 or uint32, in any mix, are read in place;
        anything else that numpy reads as real numbers is converted to float64 first.

        Args:
            prefill_blocks: Shape ``(workers,)``. KV blocks that each worker still has to prefill,
                this request's uncached blocks included; finite, ≥ 0.
            active_blocks: Shape ``(workers,)``. KV blocks that each worker's running requests hold;
                finite, ≥ 0.

        Returns:
            The chosen worker and the grounds. It is also recorded for ``decisions``.

        Raises:
            InputError: A shape is wrong, there is no worker, or a value is negative, infinite or
                NaN; the message names the place, and nothing is recorded.
        """

    def select_batch(self, prefill_blocks: ArrayLike, active_blocks: ArrayLike) -> BatchDecision:
        """Choose a worker for each of many requests. O(requests · workers), without the GIL.

        All requests are decided under one policy and at one time; they do not see each other's
        load. Arrays are read in place as in ``select`` and must not be written to meanwhile.

        Args:
            prefill_blocks: Shape ``(requests, workers)``, otherwise as in ``select``.
            active_blocks: Shape ``(requests, workers)``, otherwise as in ``select``.

        Returns:
            The chosen workers. Each request is also recorded for ``decisions``.

        Raises:
            InputError: As in ``select``; one wrong value refuses the whole batch.
        """

    def swap(
        self,
        *,
        temperature: float | None = None,
        prefill_weight: float | None = None,
        pool: str | None = None,
        instance: str | None = None,
    ) -> list[PoolPolicy]:
        """Change the policy in place; the next selection of every thread feels it.

        Args:
            temperature: The new τ; None keeps it.
            prefill_weight: The new ω; None keeps it.
            pool: ``"aggregated"`` or None: a ``Router`` has one pool.
            instance: ``"router"`` or None.

        Returns:
            The new policy, alone in a list, as ``PolicyTarget`` asks.

        Raises:
            PolicyError: A value is negative, infinite or NaN, or none is given; the policy stays.
            UnknownPoolError: The pool or the instance has another name.
        """

    @property
    def policy(self) -> PoolPolicy:
        """The present policy."""

    def policies(self) -> list[PoolPolicy]:
        """The present policy, alone in a list, as ``PolicyTarget`` asks."""

    def decisions(self) -> Decisions:
        """Take what was decided since the last call, oldest first.

        Where a thread decided more than 4,096 times since then, its oldest decisions have been
        overwritten; ``dropped`` counts them.
        """

    def recent_decisions(self, limit: int) -> Decisions:
        """The latest decisions, at most ``limit``, whether or not ``decisions`` took them.

        Raises:
            InputError: ``limit`` is negative.
        """

@final
class Decision:
    """One request's worker, and why it was chosen. Blocks are KV-cache blocks."""

    @property
    def worker(self) -> int:
        """Index of the chosen worker in the arrays."""

    @property
    def cost(self) -> float:
        """Cost of the chosen worker, in active blocks: ω · prefill_blocks + active_blocks."""

    @property
    def min_cost(self) -> float:
        """Lowest cost of all workers."""

    @property
    def max_cost(self) -> float:
        """Highest cost of all workers."""

    @property
    def candidates(self) -> int:
        """How many workers there were to choose from."""

    @property
    def prefill_blocks(self) -> float:
        """Prefill blocks of the chosen worker, as they were passed."""

    @property
    def active_blocks(self) -> float:
        """Active blocks of the chosen worker, as they were passed."""

    @property
    def temperature(self) -> float:
        """Temperature τ that was applied."""

    @property
    def prefill_weight(self) -> float:
        """Prefill weight ω that was applied."""

    @property
    def version(self) -> int:
        """Version of the policy that decided."""

    @property
    def time_ns(self) -> int:
        """When it was decided, in nanoseconds since the UNIX epoch."""

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class BatchDecision:
    """A worker for each request of a batch, all decided under one policy.

    Every array has shape ``(requests,)`` and belongs to the caller.
    """

    @property
    def worker(self) -> NDArray[np.int64]:
        """Index of each request's worker along the last axis."""

    @property
    def cost(self) -> NDArray[np.float64]:
        """Cost of each chosen worker, in active blocks."""

    @property
    def min_cost(self) -> NDArray[np.float64]:
        """Lowest cost of all workers, for each request."""

    @property
    def max_cost(self) -> NDArray[np.float64]:
        """Highest cost of all workers, for each request."""

    @property
    def candidates(self) -> int:
        """How many workers there were to choose from."""

    @property
    def temperature(self) -> float:
        """Temperature τ that was applied."""

    @property
    def prefill_weight(self) -> float:
        """Prefill weight ω that was applied."""

    @property
    def version(self) -> int:
        """Version of the policy that decided."""

    def __len__(self) -> int:
        """Number of requests."""

@type_check_only
class _Observer(Protocol):
    def sample(
        self,
        time: float,
        pools: list[
            tuple[PoolPolicy, int, NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]
        ],
        ttft_seconds: NDArray[np.float64],
        prefills: tuple[
            NDArray[np.uint64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]
        ],
        itl_seconds: NDArray[np.float64],
        decisions: Decisions,
        /,
    ) -> list[tuple[str, float, float]]: ...
    def progress(self, finished: int, time_seconds: float, /) -> None: ...

def simulate(
    configuration: str,
    requests: tuple[
        NDArray[np.float64],
        NDArray[np.int64],
        NDArray[np.int64],
        NDArray[np.uint64],
        NDArray[np.int64],
    ]
    | None = None,
    observer: _Observer | None = None,
) -> dict[str, Any]:
    """Run a cluster in virtual time; what ``dynamo_regime.sim.simulate`` stands on.

    Args:
        configuration: Cluster, router, workload and seed as a JSON document.
        requests: A trace's arrival times in seconds, prompt tokens, output tokens, block names and
            offsets, for a workload of kind ``trace``.
        observer: Is shown samples and progress; the swaps that ``sample`` returns are made.

    Returns:
        Columns, summary, policies over time, and the seconds that it took.

    Raises:
        InputError: A value is out of range; the message names it.
        RegimeError: The engines cannot serve the workload.
    """
