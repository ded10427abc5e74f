"""Selfish caching beside the best placement found, by network, capacity and popularity."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dynamo_regime.games.cache import (
    CacheGame,
    local_optimum,
    selfish,
    social_cost_seconds,
    without_link,
)
from dynamo_regime.study.report import Report, Table
from dynamo_regime.study.report.values import shown, with_deviation
from dynamo_regime.study.statistics import estimate

NODE = 4
"""GPUs of a node, all of which are linked by NVLink."""
_TIER_SECONDS = (0.0, 0.002, 0.02)
_NVLINK_SECONDS = 0.001
_INFINIBAND_SECONDS = 0.01
_MISS_SECONDS = 0.2
_SEARCHED = 3_000


@dataclass(frozen=True, slots=True)
class Braess:
    """A link that makes all together worse off.

    Attributes:
        game: With the link.
        link: The two workers.
        with_link_seconds: What selfish placement costs with it.
        without_link_seconds: And without.
    """

    game: CacheGame
    link: tuple[int, int]
    with_link_seconds: float
    without_link_seconds: float


def networks(workers: int) -> dict[str, NDArray[np.float64]]:
    """Times between workers: one NVLink node, an InfiniBand ring, and nodes on a ring."""
    place = np.arange(workers)
    apart = np.abs(place[:, None] - place[None, :])
    ring = np.where((apart == 1) | (apart == workers - 1), _INFINIBAND_SECONDS, np.inf)
    node = place // NODE
    nodes = int(node.max()) + 1
    node_apart = np.abs(node[:, None] - node[None, :])
    linked = (node_apart == 1) | (node_apart == nodes - 1)
    mixed = np.where(
        node[:, None] == node[None, :],
        _NVLINK_SECONDS,
        np.where(linked, _INFINIBAND_SECONDS, np.inf),
    )
    return {
        "NVLink, all": np.full((workers, workers), _NVLINK_SECONDS),
        "InfiniBand ring": ring,
        f"NVLink nodes of {NODE} on a ring": mixed,
        "no links": np.full((workers, workers), np.inf),
    }


def game_of(
    links: NDArray[np.float64], items: int, slots: tuple[int, int, int], zipf: float, seed: int
) -> CacheGame:
    """A worker needs items by Zipf's law; each has its favourites in part, drawn from the seed."""
    rng = np.random.default_rng(seed)
    workers = links.shape[0]
    popularity = np.arange(1, items + 1, dtype=np.float64) ** -zipf
    # Half of what a worker is asked for is hot everywhere, half is hot at this worker only.
    own = np.array([rng.permutation(popularity) for _ in range(workers)])
    demand = 0.5 * popularity / popularity.sum() + 0.5 * own / popularity.sum()
    return CacheGame(demand, slots, _TIER_SECONDS, links, _MISS_SECONDS)


def find_braess(seed: int = 0) -> Braess | None:
    """A small game in which a link more makes selfish placement dearer for all together."""
    rng = np.random.default_rng(seed)
    for _ in range(_SEARCHED):
        links = np.full((3, 3), np.inf)
        for one, other in ((0, 1), (1, 2), (0, 2)):
            links[one, other] = links[other, one] = rng.choice([0.1, 0.5, np.inf])
        demand = np.round(rng.exponential(1.0, (3, 3)), 1)
        game = CacheGame(demand, (1, 0, 0), (0.0, 0.0, 0.0), links, 1.0)
        for one, other in np.argwhere(np.triu(np.isfinite(links), 1)).tolist():
            less = without_link(game, one, other)
            (after, rests), (before, rested) = selfish(game), selfish(less)
            dear, cheap = social_cost_seconds(game, after), social_cost_seconds(less, before)
            if rests and rested and dear > 1.02 * cheap:
                return Braess(game, (one, other), dear, cheap)
    return None


def cache_report(
    workers: int,
    items: int,
    slots: Sequence[tuple[int, int, int]],
    zipfs: Sequence[float],
    seeds: int,
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Selfish placement against the best one found, and a Braess instance."""
    rows = []
    links = networks(workers)
    total, done = len(links) * len(slots) * len(zipfs) * seeds, 0
    for name, times in links.items():
        for room in slots:
            for zipf in zipfs:
                costs, losses, prices, resting = [], [], [], 0
                for seed in range(seeds):
                    game = game_of(times, items, room, zipf, seed)
                    placed, at_rest = selfish(game)
                    cost = social_cost_seconds(game, placed)
                    best = social_cost_seconds(game, local_optimum(game, placed))
                    costs.append(1e3 * cost / workers)
                    losses.append(1e3 * (cost - best) / workers)
                    prices.append(cost / best if best > 0.0 else 1.0)
                    resting += at_rest
                    done += 1
                    if progress is not None:
                        progress(done, total)
                rows.append(
                    (
                        name,
                        "/".join(str(each) for each in room),
                        shown(zipf),
                        with_deviation(estimate(costs)),
                        with_deviation(estimate(losses)),
                        with_deviation(estimate(prices)),
                        f"{resting} of {seeds}",
                    )
                )
    columns = ("network", "slots", "Zipf", "selfish, ms", "loss, ms ≥", "price ≥", "at rest")
    notes = (
        f"{workers} workers, {items} prefixes; slots of {', '.join(('HBM', 'DRAM', 'SSD'))} of a"
        " worker. Half of a worker's requests are for what is hot everywhere, half for what is hot"
        " there only.",
        "selfish: time a request takes to get its prefix. loss and price: against a placement which"
        " no exchange of one prefix improves, so that both are lower bounds. at rest: best"
        " responses ended.",
        *_braess_notes(find_braess()),
        "What to do is in the column loss: what a request would save if placement were made for all"
        " together. Where that is small against a request's latency, leave caching to each worker.",
    )
    table = Table("Selfish caching and the best placement found", columns, tuple(rows), notes)
    return Report("The caching game", (table,))


def _braess_notes(found: Braess | None) -> tuple[str, ...]:
    if found is None:
        return ()
    one, other = found.link
    game = found.game
    demand = "; ".join(
        f"worker {worker}: {', '.join(f'{each:g}' for each in row)}"
        for worker, row in enumerate(game.demand_per_second.tolist())
    )
    return (
        "Braess, found by search: three workers with room for one of three prefixes each, asked for"
        f" them so often a second ({demand}). Without a link between {one} and {other} they hold"
        f" {_held(without_link(game, one, other))} and pay {found.without_link_seconds:.3g} s a"
        f" second together; with it {_held(game)} and {found.with_link_seconds:.3g}.",
    )


def _held(game: CacheGame) -> str:
    holding, _ = selfish(game)
    each = (" and ".join(str(item) for item in np.flatnonzero(row)) or "none" for row in holding)
    return f"prefixes {', '.join(each)}"
