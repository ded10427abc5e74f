"""The caching game, against trying every placement and cases worked by hand."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamo_regime.errors import InputError
from dynamo_regime.games.cache import (
    CacheGame,
    best_response,
    brute_force,
    costs_seconds,
    local_optimum,
    selfish,
    social_cost_seconds,
)

INF = np.inf


def random_game(seed: int, workers: int = 3, items: int = 4) -> CacheGame:
    rng = np.random.default_rng(seed)
    links = rng.choice([0.2, 0.5, INF], (workers, workers))
    return CacheGame(
        demand_per_second=rng.exponential(1.0, (workers, items)),
        slots=(1, 1, 0),
        tier_seconds=(0.0, 0.1, 0.3),
        link_seconds=np.minimum(links, links.T),
        miss_seconds=1.0,
    )


def test_selfish_placement_ends_where_nobody_gains_and_is_no_better_than_the_optimum() -> None:
    prices = []
    for seed in range(40):
        game = random_game(seed)
        holding, at_rest = selfish(game)
        least = brute_force(game)
        prices.append(social_cost_seconds(game, holding) / least)
        assert prices[-1] >= 1.0 - 1e-12
        found = social_cost_seconds(game, local_optimum(game, holding))
        assert least * (1 - 1e-12) <= found <= prices[-1] * least * (1 + 1e-12)
        if at_rest:
            for worker in range(3):
                other = holding.copy()
                other[worker] = best_response(game, holding, worker)
                pays = costs_seconds(game, holding)[worker]
                assert costs_seconds(game, other)[worker] >= pays * (1 - 1e-9)
    assert max(prices) > 1.02


def test_a_best_response_is_the_best_of_all_sets() -> None:
    for seed in range(20):
        game = random_game(seed)
        holding, _ = selfish(random_game(seed + 100))
        chosen = holding.copy()
        chosen[0] = best_response(game, holding, 0)
        paid = costs_seconds(game, chosen)[0]
        for number in range(16):
            own = np.array([bool(number >> item & 1) for item in range(4)])
            if own.sum() <= 2:
                other = holding.copy()
                other[0] = own
                assert paid <= costs_seconds(game, other)[0] + 1e-12


def test_without_links_or_with_links_as_fast_as_ones_own_cache_selfish_is_optimal() -> None:
    for seed in range(10):
        alone = replace(random_game(seed), link_seconds=np.full((3, 3), INF))
        assert social_cost_seconds(alone, selfish(alone)[0]) == pytest.approx(brute_force(alone))
    # Everybody needs the same, and together they have room for all of it: nobody holds twice.
    shared = CacheGame(np.ones((3, 6)), (2, 0, 0), (0.0, 0.1, 0.2), np.zeros((3, 3)), 1.0)
    assert social_cost_seconds(shared, selfish(shared)[0]) == 0.0


def test_the_hottest_is_in_the_fastest_tier_and_a_miss_is_computed_anew() -> None:
    game = CacheGame(np.array([[3.0, 2.0, 1.0]]), (1, 1, 0), (0.1, 0.4, 0.6), np.zeros((1, 1)), 1.0)
    holding, _ = selfish(game)
    assert holding.tolist() == [[True, True, False]]
    assert social_cost_seconds(game, holding) == pytest.approx(3 * 0.1 + 2 * 0.4 + 1 * 1.0)


def test_nobody_holds_for_others_what_he_does_not_need() -> None:
    # Worker 0 needs nothing and has room; worker 1 needs two items and has room for one.
    demand = np.array([[0.0, 0.0], [1.0, 1.0]])
    links = np.full((2, 2), 0.1)
    game = CacheGame(demand, (1, 0, 0), (0.0, 0.0, 0.0), links, 1.0)
    holding, _ = selfish(game)
    assert social_cost_seconds(game, holding) == pytest.approx(1.0)
    assert brute_force(game) == pytest.approx(0.1)


@given(st.integers(0, 50), st.floats(0.01, 100.0), st.permutations([0, 1, 2]))
def test_units_and_names_do_not_matter(seed: int, scale: float, names: list[int]) -> None:
    game = random_game(seed)
    scaled = CacheGame(
        game.demand_per_second[names],
        game.slots,
        tuple(scale * each for each in game.tier_seconds),  # type: ignore[arg-type]
        scale * game.link_seconds[np.ix_(names, names)],
        scale * game.miss_seconds,
    )
    assert brute_force(scaled) == pytest.approx(scale * brute_force(game), rel=1e-9)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"link_seconds": np.zeros((2, 2))}, r"link_seconds has shape \(2, 2\) for 3 workers"),
        ({"demand_per_second": np.full((3, 4), -1.0)}, "a demand is negative"),
        ({"tier_seconds": (0.3, 0.1, 0.2)}, "the times of the tiers must rise"),
        ({"miss_seconds": 0.0}, "a miss take a finite time above 0"),
    ],
)
def test_what_cannot_be_is_refused(change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        replace(random_game(0), **change)


def test_what_is_too_large_to_try_is_refused() -> None:
    with pytest.raises(InputError, match="more than 200000 placements"):
        brute_force(random_game(0, workers=8, items=10))
