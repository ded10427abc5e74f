"""How to route with ``dynamo_regime.Router`` in a gateway in front of a stock Dynamo frontend.

The router weighs two numbers for each worker; a gateway has to know them:

* ``prefill_blocks``: KV-cache blocks still to be computed there, this request's own included;
* ``active_blocks``: KV-cache blocks that the requests running there hold.

This one counts both from the requests it sends and the answers that come back, and remembers which
prompt prefixes it sent to which worker. It names the worker it chose in the header
``x-worker-instance-id``, which Dynamo's frontend obeys (with ``--router-mode direct`` it insists on
it).
"""

from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np

from dynamo_regime import Router


def prefix_hashes(token_ids: Sequence[int], block_size: int) -> list[int]:
    """One hash for each full block of a prompt; equal hashes mean equal prompts up to there.

    Like the workers, it leaves out a partial block at the end: that one is never shared.
    """
    hashes: list[int] = []
    parent = 0
    for end in range(block_size, len(token_ids) + 1, block_size):
        parent = hash((parent, *token_ids[end - block_size : end]))
        hashes.append(parent)
    return hashes


class Worker:
    """What the gateway knows of one worker: its own requests there, and so roughly its cache."""

    def __init__(self, instance_id: int, cache_blocks: int) -> None:
        """An idle worker with an empty cache of ``cache_blocks`` blocks."""
        self.instance_id = instance_id
        self.prefill_backlog_blocks = 0
        # A block that several running requests share is held once.
        self._active: Counter[int] = Counter()
        # Least recently used first: the order in which workers evict.
        self._cached: OrderedDict[int, None] = OrderedDict()
        self._cache_blocks = cache_blocks

    @property
    def active_blocks(self) -> int:
        """Blocks that running requests hold."""
        return len(self._active)

    def overlap_blocks(self, hashes: Sequence[int]) -> int:
        """How many leading blocks of a prompt are cached here: the first miss ends the prefix."""
        for blocks, block in enumerate(hashes):
            if block not in self._cached:
                return blocks
        return len(hashes)

    def begin(self, hashes: Sequence[int], uncached_blocks: int) -> None:
        """A request is on its way."""
        self.prefill_backlog_blocks += uncached_blocks
        self._active.update(hashes)
        for block in hashes:
            self._cached[block] = None
            self._cached.move_to_end(block)
        while len(self._cached) > self._cache_blocks:
            self._cached.popitem(last=False)

    def prefilled(self, uncached_blocks: int) -> None:
        """The prompt of a request is processed."""
        self.prefill_backlog_blocks -= uncached_blocks

    def end(self, hashes: Sequence[int]) -> None:
        """A request is over, answered or failed."""
        self._active.subtract(hashes)
        self._active += Counter()  # Drops the blocks that nobody holds any more.


class GatewayRoute:
    """The way of one request."""

    def __init__(self, worker: Worker, uncached_blocks: int, policy_version: int) -> None:
        """Made by :meth:`Gateway.route`."""
        self.headers: Mapping[str, str] = {"x-worker-instance-id": str(worker.instance_id)}
        self.policy_version = policy_version
        self._worker = worker
        self._uncached_blocks = uncached_blocks

    def first_token(self) -> None:
        """The answer begins: the prefill backlog is shorter by this request, once."""
        self._worker.prefilled(self._uncached_blocks)
        self._uncached_blocks = 0


class Gateway:
    """Chooses a worker for each request."""

    def __init__(
        self, router: Router, instance_ids: Sequence[int], block_size: int, cache_blocks: int
    ) -> None:
        """Route by ``router`` to these workers, each with a cache of ``cache_blocks`` blocks."""
        self._router = router
        self._workers = [Worker(instance_id, cache_blocks) for instance_id in instance_ids]
        self._block_size = block_size

    @contextmanager
    def route(self, token_ids: Sequence[int]) -> Iterator[GatewayRoute]:
        """A request's way, for as long as the request lasts."""
        hashes = prefix_hashes(token_ids, self._block_size)
        uncached = [len(hashes) - worker.overlap_blocks(hashes) for worker in self._workers]
        backlog = np.array(
            [worker.prefill_backlog_blocks for worker in self._workers], dtype=np.float64
        )
        active = np.array([worker.active_blocks for worker in self._workers], dtype=np.float64)

        decision = self._router.select(backlog + uncached, active)  # <- the one call that matters

        worker = self._workers[decision.worker]
        worker.begin(hashes, uncached[decision.worker])
        way = GatewayRoute(worker, uncached[decision.worker], decision.version)
        try:
            yield way
        finally:
            way.first_token()  # One that failed before its first token leaves no backlog behind.
            worker.end(hashes)
