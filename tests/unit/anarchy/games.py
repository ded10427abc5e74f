"""Small games, and their optimum by trying every profile."""

import math
from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from dynamo_regime.anarchy import Requests
from dynamo_regime.games.routing import Curve

Array = NDArray[np.float64]


def linear(slope: float, base: float = 0.0) -> Curve:
    return lambda n: slope * n + base


def brute_force(prefill: Array, curves: Sequence[Curve]) -> float:
    """The least cost of all profiles, added up request by request."""
    n, workers = prefill.shape
    return min(
        math.fsum(
            float(curves[w](np.array([float(profile.count(w))]))[0]) + prefill[r, w]
            for r, w in enumerate(profile)
        )
        for profile in product(range(workers), repeat=n)
    )


def requests(
    worker: Sequence[int],
    latency: Sequence[float],
    *,
    start: Sequence[float] | None = None,
    prompt: Sequence[float] | None = None,
    cached: Sequence[float] | None = None,
    best: Sequence[float] | None = None,
    workers: int = 2,
) -> Requests:
    """Requests that begin together and whose prompts are empty, unless it is said otherwise."""
    n = len(worker)
    prompts = np.array(prompt if prompt is not None else [0.0] * n)
    return Requests(
        worker=np.array(worker, dtype=np.int64),
        start_seconds=np.array(start if start is not None else [0.0] * n),
        latency_seconds=np.array(latency, dtype=np.float64),
        prompt_blocks=prompts,
        cached_blocks=np.array(cached if cached is not None else [0.0] * n),
        best_cached_blocks=np.array(best) if best is not None else prompts,
        workers=workers,
    )
