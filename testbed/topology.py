"""Which workers a cluster has, and how each of them behaves."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, slots=True)
class Topology:
    """Number of workers by role: ``aggregated`` alone, or ``prefill`` and ``decode``."""

    workers: Mapping[str, int]

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``8`` (eight aggregated workers) or ``1P5D`` (one prefill, five decode workers).

        Raises:
            ValueError: The text is neither, or names a role without workers.
        """
        match = re.fullmatch(
            r"(?P<aggregated>\d+)|(?P<prefill>\d+)P/?(?P<decode>\d+)D", text.strip(), re.IGNORECASE
        )
        workers = {
            role: int(count)
            for role, count in (match.groupdict() if match else {}).items()
            if count
        }
        if not workers or 0 in workers.values():
            raise ValueError(
                f"topology {text!r} is neither a number of workers, as 8, nor of the form 1P5D"
            )
        return cls(workers)

    @property
    def disaggregated(self) -> bool:
        """Whether prefill and decode run on different workers."""
        return "aggregated" not in self.workers

    @property
    def total(self) -> int:
        """Number of workers."""
        return sum(self.workers.values())

    def __str__(self) -> str:
        """The text that :meth:`parse` reads."""
        if self.disaggregated:
            return f"{self.workers['prefill']}P{self.workers['decode']}D"
        return str(self.workers["aggregated"])


@dataclass(frozen=True, slots=True)
class WorkerModel:
    """How Dynamo's mocker behaves.

    At ``speedup`` 1 it takes (its polynomials) 16.5 ms + 15.2 ms per 1,000 uncached prompt tokens
    for a prefill batch, and from 5.7 ms (empty cache) to 34 ms (full) for one decode step of all
    running requests.

    Attributes:
        speedup: How many times faster than that; below 1 it is slower, which makes queues at few
            requests a second.
        block_size: Tokens in a KV-cache block.
        cache_blocks: KV-cache blocks of a worker.
    """

    speedup: float = 1.0
    block_size: int = 64
    cache_blocks: int = 1024
