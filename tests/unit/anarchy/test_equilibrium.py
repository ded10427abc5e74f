"""Equilibria of small games, against the definition and textbook prices."""

import numpy as np
import pytest

from dynamo_regime.anarchy import best_response, optimum, prices
from dynamo_regime.errors import InputError
from tests.unit.anarchy.games import Array, brute_force, linear


def gains(worker: np.ndarray, prefill: Array, slopes: Array, bases: Array) -> bool:
    """Whether some request gains by moving alone."""
    loads = np.bincount(worker, minlength=slopes.size)
    for r, here in enumerate(worker):
        pays = slopes[here] * loads[here] + bases[here] + prefill[r, here]
        for there in range(slopes.size):
            if there == here:
                continue
            would = slopes[there] * (loads[there] + 1) + bases[there] + prefill[r, there]
            if would < pays - 1e-6:
                return True
    return False


def test_best_responses_end_where_nobody_gains() -> None:
    rng = np.random.default_rng(0)
    for _ in range(100):
        n, workers = int(rng.integers(1, 30)), int(rng.integers(1, 6))
        slopes, bases = rng.uniform(0.01, 1.0, workers), rng.uniform(0.0, 1.0, workers)
        prefill = rng.uniform(0.0, 3.0, (n, workers))
        begun = rng.integers(workers, size=n)
        curves = [linear(a, b) for a, b in zip(slopes, bases, strict=True)]
        rest = best_response(begun, prefill, curves)
        assert not gains(rest.worker, prefill, slopes, bases)
        assert rest.moves > 0 or not gains(begun, prefill, slopes, bases)
        assert rest.cost_seconds >= optimum(begun, prefill, curves).lower_seconds * (1 - 1e-12)


def test_the_price_of_linear_games_is_at_most_five_halves_and_is_found_to_be_above_one() -> None:
    # 5/2: Awerbuch, Azar, Epstein 2005; Christodoulou, Koutsoupias 2005. On parallel links, which
    # is what workers are, the bound holds for weighted sums of the links' costs all the more.
    rng = np.random.default_rng(1)
    highest = 1.0
    for _ in range(150):
        n, workers = int(rng.integers(2, 5)), int(rng.integers(2, 4))
        curves = [linear(a) for a in rng.choice([0.1, 0.5, 1.0, 2.0], workers)]
        prefill = rng.choice([0.0, 0.5, 100.0], (n, workers), p=[0.6, 0.2, 0.2])
        found = prices(prefill, curves)
        assert found.equilibria >= 1
        assert 1.0 - 1e-12 <= found.stability <= found.anarchy <= 2.5 + 1e-12
        highest = max(highest, found.anarchy)
    assert highest > 1.2


def test_two_thirds_more_than_the_optimum_where_each_takes_the_others_place() -> None:
    # Two requests, each with its prefix on one worker; both elsewhere costs 1 more each. With
    # l(n) = n both profiles are equilibria when moving gains nothing: 2·(1 + 1) against 2·1.
    prefill = np.array([[0.0, 1.0], [1.0, 0.0]])
    found = prices(prefill, [linear(1.0)] * 2)
    assert (found.anarchy, found.stability) == (2.0, 1.0)


def test_identical_workers_without_caches_have_no_anarchy() -> None:
    found = prices(np.zeros((6, 3)), [linear(1.0)] * 3)
    assert (found.anarchy, found.stability) == (1.0, 1.0)
    assert found.equilibria == 90  # 6! / (2!)³


def test_the_optimum_that_prices_are_measured_by_is_that_of_brute_force() -> None:
    rng = np.random.default_rng(2)
    curves = [linear(0.5), linear(2.0, 0.1)]
    prefill = rng.uniform(0.0, 1.0, (5, 2))
    found = prices(prefill, curves)
    rest = best_response([0] * 5, prefill, curves)
    best = brute_force(prefill, curves)
    assert found.stability <= rest.cost_seconds / best + 1e-12 <= found.anarchy + 2e-12


def test_what_is_too_large_for_brute_force_is_refused() -> None:
    with pytest.raises(InputError, match="brute force goes up to 200000"):
        prices(np.zeros((20, 4)), [linear(1.0)] * 4)
