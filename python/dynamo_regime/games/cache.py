"""Game 2, caching: every worker fills its own tiers as suits itself (arXiv 2606.17081).

A worker serves an item (the KV blocks of a prefix) from the cheapest place: its HBM, DRAM or SSD,
the cache of a worker that it has a link to, or else by computing it anew:

* a worker that holds the set K pays Σ_i demand_i · min(its tier's time of i ∈ K, a link's time to a
  holder of i, the time of a miss);
* selfish placement is the best response to what the others hold: the items that save it most, the
  most saving in the fastest tier (an assignment of items to slots). It is worth nothing to hold
  what a neighbour holds as near, and nobody holds for others what he does not need himself;
* the social optimum counts what a copy saves everyone.

Selfish caching can be any factor from the optimum on sparse networks (Chun, Chaudhuri, Wee,
Barreno, Papadimitriou and Kubiatowicz, PODC 2004), and best responses may go round in a circle.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations, product
from math import comb

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from dynamo_regime.errors import InputError

TIERS = ("HBM", "DRAM", "SSD")
_MOST_PROFILES = 200_000
_MOST_ROUNDS = 50
_GAIN = 1e-12

Holding = NDArray[np.bool_]
"""Which worker holds which item, shape (workers, items)."""


@dataclass(frozen=True, slots=True, eq=False)
class CacheGame:
    """Workers with caches, links between them, and what they are asked for.

    Attributes:
        demand_per_second: How often each worker needs each item, 0 or more, shape (workers, items).
        slots: Items that each tier of a worker holds, in the order of ``TIERS``.
        tier_seconds: Time to read an item from each tier, rising.
        link_seconds: Time to read an item from another worker, infinite without a link, shape
            (workers, workers).
        miss_seconds: Time to compute an item anew.

    Raises:
        InputError: Shapes that do not fit, or values out of range.
    """

    demand_per_second: NDArray[np.float64]
    slots: tuple[int, int, int]
    tier_seconds: tuple[float, float, float]
    link_seconds: NDArray[np.float64]
    miss_seconds: float

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        workers = self.demand_per_second.shape[0]
        if self.link_seconds.shape != (workers, workers):
            raise InputError(
                f"link_seconds has shape {self.link_seconds.shape} for {workers} workers: give"
                f" ({workers}, {workers})"
            )
        if not (np.isfinite(self.demand_per_second) & (self.demand_per_second >= 0.0)).all():
            raise InputError("a demand is negative or not finite: give 0 or more a second")
        if min(self.slots) < 0 or list(self.tier_seconds) != sorted(self.tier_seconds):
            raise InputError("slots must be 0 or more, and the times of the tiers must rise")
        if not (self.link_seconds >= 0.0).all() or not 0.0 < self.miss_seconds < np.inf:
            raise InputError("times must be 0 or more, and a miss take a finite time above 0")


def costs_seconds(game: CacheGame, holding: Holding) -> NDArray[np.float64]:
    """What each worker pays a second of its demand, shape (workers,)."""
    return np.array(
        [_paid(game, holding, worker, holding[worker]) for worker in range(holding.shape[0])]
    )


def social_cost_seconds(game: CacheGame, holding: Holding) -> float:
    """What all workers pay together."""
    return float(costs_seconds(game, holding).sum())


def best_response(game: CacheGame, holding: Holding, worker: int) -> NDArray[np.bool_]:
    """What a worker would hold if all others keep what they have, shape (items,)."""
    saved = np.maximum(_savings(game, holding, worker), 0.0)
    items, places = linear_sum_assignment(-saved)
    chosen = np.zeros(saved.shape[0], np.bool_)
    chosen[items[saved[items, places] > 0.0]] = True
    return chosen


def selfish(game: CacheGame, start: Holding | None = None) -> tuple[Holding, bool]:
    """Best responses in turn, from empty caches or from ``start``.

    Returns:
        Where it ended, and whether nobody gains there; after 50 rounds it is given up.
    """
    shape = game.demand_per_second.shape
    holding = np.zeros(shape, np.bool_) if start is None else start.copy()
    for _ in range(_MOST_ROUNDS):
        moved = False
        for worker in range(shape[0]):
            better = best_response(game, holding, worker)
            pays = _paid(game, holding, worker, holding[worker])
            if _paid(game, holding, worker, better) < pays * (1.0 - _GAIN):
                holding[worker] = better
                moved = True
        if not moved:
            return holding, True
    return holding, False


def brute_force(game: CacheGame) -> float:
    """The least social cost of all placements.

    Raises:
        InputError: There are more than 200,000 of them.
    """
    workers, items = game.demand_per_second.shape
    room = min(sum(game.slots), items)
    if comb(items, room) ** workers > _MOST_PROFILES:
        raise InputError(
            f"{workers} workers with {room} of {items} items have more than {_MOST_PROFILES}"
            " placements: take a smaller game, or local_optimum"
        )
    # More is never dearer, so that full caches are enough.
    sets = [np.isin(np.arange(items), chosen) for chosen in combinations(range(items), room)]
    return min(
        social_cost_seconds(game, np.array(profile)) for profile in product(sets, repeat=workers)
    )


def local_optimum(game: CacheGame, start: Holding) -> Holding:
    """A placement that no exchange of one item at one worker improves for all together.

    The optimum is no dearer, so that selfish cost over this one's is a lower bound of the price.
    """
    holding = start.copy()
    cost = social_cost_seconds(game, holding)
    improved = True
    while improved:
        improved = False
        for candidate in _exchanges(game, holding):
            found = social_cost_seconds(game, candidate)
            if found < cost * (1.0 - _GAIN):
                holding, cost, improved = candidate, found, True
                break
    return holding


def without_link(game: CacheGame, one: int, other: int) -> CacheGame:
    """The same game without the link between two workers."""
    links = game.link_seconds.copy()
    links[one, other] = links[other, one] = np.inf
    return replace(game, link_seconds=links)


def _exchanges(game: CacheGame, holding: Holding) -> Iterator[Holding]:
    room = sum(game.slots)
    for worker in range(holding.shape[0]):
        held, free = np.flatnonzero(holding[worker]), np.flatnonzero(~holding[worker])
        for item in free.tolist():
            for gone in held.tolist() if held.size >= room else [None]:
                candidate = holding.copy()
                candidate[worker, item] = True
                if gone is not None:
                    candidate[worker, gone] = False
                yield candidate


def _elsewhere(game: CacheGame, holding: Holding, worker: int) -> NDArray[np.float64]:
    """The time of each item from others, or anew."""
    links = game.link_seconds[worker].copy()
    links[worker] = np.inf
    reachable = np.where(holding, links[:, None], np.inf).min(axis=0)
    return np.asarray(np.minimum(reachable, game.miss_seconds))


def _savings(game: CacheGame, holding: Holding, worker: int) -> NDArray[np.float64]:
    """What a worker saves by each item in each of its slots, shape (items, slots)."""
    tiers = np.repeat(np.array(game.tier_seconds), game.slots)
    elsewhere = _elsewhere(game, holding, worker)
    return np.asarray(game.demand_per_second[worker][:, None] * (elsewhere[:, None] - tiers))


def _paid(game: CacheGame, holding: Holding, worker: int, own: NDArray[np.bool_]) -> float:
    """What a worker pays that holds ``own``, the others as they are."""
    elsewhere = _elsewhere(game, holding, worker)
    whole = float(game.demand_per_second[worker] @ elsewhere)
    saved = np.maximum(_savings(game, holding, worker)[own], 0.0)
    if saved.size == 0:
        return whole
    return whole - float(saved[linear_sum_assignment(-saved)].sum())
