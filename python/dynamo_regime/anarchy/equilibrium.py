"""Where selfish requests come to rest, and how far from the optimum that is."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamo_regime.anarchy.curves import Curve
from dynamo_regime.anarchy.exact import checked_game, social_cost, totals
from dynamo_regime.errors import InputError

_MOST_PROFILES = 200_000
_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Equilibrium:
    """A profile in which no request gains by going elsewhere alone.

    Attributes:
        worker: Of each request, shape (n,).
        cost_seconds: Sum over the requests of latency and prefill.
        moves: Best responses that led there.
    """

    worker: NDArray[np.int64]
    cost_seconds: float
    moves: int


@dataclass(frozen=True, slots=True)
class Prices:
    """Of all equilibria of a small game, by brute force.

    Attributes:
        anarchy: Cost of the worst equilibrium over the optimum.
        stability: Cost of the best one over the optimum.
        equilibria: How many profiles are equilibria.
    """

    anarchy: float
    stability: float
    equilibria: int


def best_response(
    worker: ArrayLike, prefill_seconds: ArrayLike, curves: Sequence[Curve]
) -> Equilibrium:
    """Let requests go to the worker that is best for them, one after the other, until none gains.

    A request on w pays l_w(n_w) + prefill[r, w]. Every move that gains lowers Rosenthal's potential
    Σ_w Σ_{k ≤ n_w} l_w(k) + Σ_r prefill[r, w(r)] (Rosenthal 1973) by as much as it gains, so that
    they end, whatever the curves. Moves of less than a billionth of the cost are not made.

    Args:
        worker: Index of the worker of each request to begin with, shape (n,).
        prefill_seconds: Of each request on each worker, shape (n, workers).
        curves: One a worker.

    Raises:
        InputError: As :func:`dynamo_regime.anarchy.exact.optimum`.
    """
    taken, prefill = checked_game(worker, prefill_seconds, curves)
    taken = taken.copy()
    cost = totals(curves, taken.size)
    each = cost[:, 1:] / np.arange(1, taken.size + 1)
    loads = np.bincount(taken, minlength=len(curves))
    workers = np.arange(len(curves))
    moves = 0
    still = 0
    request = 0
    while still < taken.size:
        here = taken[request]
        others = loads.copy()
        others[here] -= 1
        pays = each[workers, others] + prefill[request]
        best = int(pays.argmin())
        if pays[best] < pays[here] * (1.0 - _TOLERANCE):
            taken[request] = best
            loads = others
            loads[best] += 1
            moves += 1
            still = 0
        else:
            still += 1
        request = (request + 1) % taken.size
    return Equilibrium(taken, social_cost(taken, prefill, cost), moves)


def prices(prefill_seconds: ArrayLike, curves: Sequence[Curve]) -> Prices:
    """Price of anarchy and of stability (Anshelevich et al. 2004) over all pure equilibria.

    Args:
        prefill_seconds: Of each request on each worker, shape (n, workers).
        curves: One a worker.

    Raises:
        InputError: There are more than 200,000 profiles (8 requests on 4 workers have 65,536), or
            as :func:`dynamo_regime.anarchy.exact.optimum`.
    """
    prefill = np.asarray(prefill_seconds, dtype=np.float64)
    n, workers = prefill.shape if prefill.ndim == 2 else (0, 0)
    if workers**n > _MOST_PROFILES:
        raise InputError(
            f"{n} requests on {workers} workers have {workers**n} profiles: brute force goes up to"
            f" {_MOST_PROFILES}"
        )
    _, prefill = checked_game(np.zeros(n, np.int64), prefill, curves)
    cost = totals(curves, n)
    each = np.concatenate([cost[:, 1:] / np.arange(1, n + 1), np.full((workers, 1), np.inf)], 1)
    least, worst, best, count = np.inf, 0.0, np.inf, 0
    for profile in product(range(workers), repeat=n):
        taken = np.array(profile)
        social = social_cost(taken, prefill, cost)
        least = min(least, social)
        loads = np.bincount(taken, minlength=workers)
        pays = each[taken, loads[taken] - 1] + prefill[np.arange(n), taken]
        elsewhere = each[np.arange(workers), loads] + prefill
        elsewhere[np.arange(n), taken] = np.inf
        if (pays <= elsewhere.min(axis=1) * (1.0 + _TOLERANCE)).all():
            worst, best, count = max(worst, social), min(best, social), count + 1
    return Prices(worst / least, best / least, count)
