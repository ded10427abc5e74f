"""Small simulations that the tests share."""

import dataclasses

import numpy as np

from dynamo_regime.sim import ClosedLoop, Phase, Trace
from dynamo_regime.sim.workload.mooncake import conversation

BLOCK_TOKENS = 64


def steady(concurrency: int, seconds: float) -> ClosedLoop:
    """The paper's prompts from a constant number of clients."""
    return ClosedLoop(phases=(Phase(concurrency=concurrency, duration_seconds=seconds),))


def conversations(requests: int, speed: float) -> Trace:
    """The beginning of the carried conversation trace."""
    return dataclasses.replace(conversation().slice(0, requests), speed=speed)


def prompts(times: list[float], *, blocks: int = 2, output_tokens: int = 8) -> Trace:
    """Requests at these times, each with whole blocks of its own."""
    count = len(times)
    return Trace(
        arrival_seconds=np.asarray(times, dtype=np.float64),
        input_tokens=np.full(count, blocks * BLOCK_TOKENS),
        output_tokens=np.full(count, output_tokens),
        blocks=np.arange(count * blocks, dtype=np.uint64),
        block_offsets=np.arange(count + 1) * blocks,
        block_tokens=BLOCK_TOKENS,
    )
