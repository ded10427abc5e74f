from itertools import product

import numpy as np
import pytest

from dynamo_regime.errors import InputError
from dynamo_regime.games.routing import (
    CongestionGame,
    Curve,
    best_response,
    brute_force,
    costs_seconds,
    is_nash,
    loads,
    potential_seconds,
    social_cost_seconds,
    tolls_seconds,
    with_tolls,
)
from dynamo_regime.sim.latency import PoleModel


def line(slope: float, base: float = 0.0) -> Curve:
    return lambda n: slope * n + base


def worst_linear_game() -> CongestionGame:
    """Christodoulou and Koutsoupias 2005, theorem 3: three players, six resources of latency n.

    Player i has {h_i, g_i} and {h_(i-1), h_(i+1), g_(i+1)}; resource h_i is i, g_i is 3 + i.
    """
    uses = np.zeros((3, 2, 6), dtype=np.bool_)
    for i in range(3):
        uses[i, 0, [i, 3 + i]] = True
        uses[i, 1, [(i - 1) % 3, (i + 1) % 3, 3 + (i + 1) % 3]] = True
    return CongestionGame((line(1.0),) * 6, uses, np.zeros((3, 2)))


def random_linear_game(rng: np.random.Generator) -> CongestionGame:
    players, strategies, resources = rng.integers(2, 5), rng.integers(2, 4), rng.integers(2, 6)
    uses = rng.random((players, strategies, resources)) < 0.5
    curves = tuple(line(*rng.integers(0, 4, 2)) for _ in range(resources))
    own = rng.integers(0, 3, (players, strategies)).astype(np.float64)
    return CongestionGame(curves, uses, own)


def random_routing_game(rng: np.random.Generator) -> CongestionGame:
    requests, workers = rng.integers(1, 7), rng.integers(1, 4)
    curves = [
        PoleModel(
            a=rng.random(), b=rng.random(), d=rng.random(), n_sat=rng.uniform(2, 12), beta=1.0
        ).seconds
        for _ in range(workers)
    ]
    return CongestionGame.routing(curves, rng.random((requests, workers)))


def every_profile(game: CongestionGame) -> list[tuple[int, ...]]:
    players, strategies = game.own_seconds.shape
    return list(product(range(strategies), repeat=players))


def test_the_worst_linear_game_has_a_price_of_anarchy_of_five_halves() -> None:
    game = worst_linear_game()
    assert is_nash(game, [1, 1, 1])
    assert social_cost_seconds(game, [0, 0, 0]) == 6.0
    assert social_cost_seconds(game, [1, 1, 1]) == 15.0
    found = brute_force(game)
    assert found.price_of_anarchy == 2.5
    assert found.price_of_stability == 1.0


def test_no_linear_game_of_three_hundred_exceeds_five_halves() -> None:
    rng = np.random.default_rng(5)
    prices = [brute_force(random_linear_game(rng)).price_of_anarchy for _ in range(300)]
    assert max(prices) <= 2.5 + 1e-9
    # The games are not all trivial, or the bound would prove nothing.
    assert max(prices) > 1.3


def test_brute_force_is_what_the_definitions_say() -> None:
    rng = np.random.default_rng(1)
    for _ in range(30):
        game = random_routing_game(rng)
        profiles = every_profile(game)
        costs = {profile: social_cost_seconds(game, profile) for profile in profiles}
        stable = [costs[profile] for profile in profiles if is_nash(game, profile)]
        found = brute_force(game)
        assert found.optimum_seconds == pytest.approx(min(costs.values()))
        assert found.best_equilibrium_seconds == pytest.approx(min(stable))
        assert found.worst_equilibrium_seconds == pytest.approx(max(stable))


def test_costs_are_added_up_by_hand() -> None:
    game = CongestionGame.routing((line(1.0), line(2.0, 5.0)), [[0.0, 9.0], [1.0, 0.0], [0.5, 3.0]])
    assert loads(game, [0, 0, 1]).tolist() == [2, 1]
    assert costs_seconds(game, [0, 0, 1]).tolist() == [2.0, 3.0, 10.0]
    # l(1) + l(2) on the first, l(1) on the second, and the players' own 0 + 1 + 3.
    assert potential_seconds(game, [0, 0, 1]) == 1.0 + 2.0 + 7.0 + 4.0
    assert tolls_seconds(game, [0, 0, 1]).tolist() == [1.0, 1.0, 0.0]


def test_best_responses_from_every_profile_end_in_an_equilibrium() -> None:
    rng = np.random.default_rng(2)
    for _ in range(10):
        game = random_routing_game(rng)
        for profile in every_profile(game)[:50]:
            reached = best_response(game, profile)
            assert is_nash(game, reached)
            assert potential_seconds(game, reached) <= potential_seconds(game, profile) + 1e-12


def test_charged_with_tolls_the_optimum_is_an_equilibrium_and_the_potential_the_social_cost() -> (
    None
):
    rng = np.random.default_rng(3)
    for _ in range(20):
        # Convex, so that the charges are no subsidies.
        curves = [line(*rng.random(2)) for _ in range(3)]
        game = CongestionGame.routing(curves, rng.random((5, 3)))
        charged = with_tolls(game)
        profiles = every_profile(game)
        for profile in profiles[::7]:
            paid = costs_seconds(game, profile) + tolls_seconds(game, profile)
            assert costs_seconds(charged, profile) == pytest.approx(paid)
            assert potential_seconds(charged, profile) == pytest.approx(
                social_cost_seconds(game, profile)
            )
        best = min(profiles, key=lambda profile: social_cost_seconds(game, profile))
        assert is_nash(charged, best)


def test_requests_without_own_costs_on_identical_workers_have_a_price_of_exactly_one() -> None:
    curve = PoleModel(a=0.1, b=1.0, d=2.0, n_sat=20.0, beta=1.0).seconds
    for requests, workers in ((1, 3), (4, 2), (5, 3), (7, 2)):
        found = brute_force(
            CongestionGame.routing([curve] * workers, np.zeros((requests, workers)))
        )
        assert found.price_of_anarchy == pytest.approx(1.0, abs=1e-12)


def test_constant_latencies_make_selfish_optimal() -> None:
    rng = np.random.default_rng(4)
    game = CongestionGame.routing([line(0.0, 1.0), line(0.0, 2.0)], rng.random((6, 2)))
    assert brute_force(game).price_of_anarchy == pytest.approx(1.0, abs=1e-12)


def test_a_request_goes_nowhere_that_is_infinite_for_it() -> None:
    game = CongestionGame.routing((line(1.0), line(1.0)), [[0.0, np.inf]] * 3)
    assert best_response(game, [0, 0, 0]).tolist() == [0, 0, 0]
    assert brute_force(game).price_of_anarchy == 1.0
    with pytest.raises(InputError, match="player 1 does not have strategy 1"):
        loads(game, [0, 1, 0])


@pytest.mark.parametrize(
    ("own", "curve", "message"),
    [
        ([[0.0, -1.0]], line(1.0), "own_seconds of player 0"),
        ([[0.0, 0.0], [np.nan, 0.0]], line(1.0), "own_seconds of player 1"),
        ([[np.inf, np.inf]], line(1.0), "own_seconds of player 0"),
        ([[0.0, 0.0]], line(-1.0), "latency of resource 0 is negative"),
        ([[0.0, 0.0, 0.0]], line(1.0), "shape"),
        (np.empty((0, 2)), line(1.0), "no player"),
    ],
)
def test_a_game_that_cannot_be_is_refused(own: object, curve: Curve, message: str) -> None:
    with pytest.raises(InputError, match=message):
        CongestionGame.routing((curve, curve), np.array(own, dtype=np.float64))


@pytest.mark.parametrize("choice", [[0], [0, 2], [0, -1]])
def test_a_choice_that_cannot_be_is_refused(choice: list[int]) -> None:
    game = CongestionGame.routing((line(1.0), line(1.0)), np.zeros((2, 2)))
    with pytest.raises(InputError):
        social_cost_seconds(game, choice)


def test_brute_force_refuses_what_it_would_not_finish() -> None:
    with pytest.raises(InputError, match="take fewer"):
        brute_force(CongestionGame.routing([line(1.0)] * 4, np.zeros((20, 4))))
