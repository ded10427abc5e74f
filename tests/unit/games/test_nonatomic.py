import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import LinearConstraint, minimize

from dynamo_regime.errors import InputError
from dynamo_regime.games.nonatomic import (
    FlowGame,
    equilibrium_cost,
    optimum_cost,
    pigou_bound,
    price_of_anarchy,
)
from dynamo_regime.games.routing import Curve


def queue(rate: float) -> tuple[Curve, Curve]:
    """M/M/1: time in the system 1 / (μ − x), and its marginal cost μ / (μ − x)²."""
    return (
        lambda x: np.divide(1.0, rate - x, out=np.full(np.shape(x), np.inf), where=x < rate),
        lambda x: np.divide(
            rate, (rate - x) ** 2, out=np.full(np.shape(x), np.inf), where=x < rate
        ),
    )


def queues(rates: list[float], demand: float) -> FlowGame:
    curves, marginals = zip(*(queue(rate) for rate in rates), strict=True)
    return FlowGame(curves, marginals, demand)


def test_pigous_two_workers_have_a_price_of_four_thirds() -> None:
    game = FlowGame.polynomial([[0.0, 1.0], [1.0]], demand=1.0)
    assert equilibrium_cost(game) == pytest.approx(1.0)
    assert optimum_cost(game) == pytest.approx(0.75)
    assert price_of_anarchy(game) == pytest.approx(4 / 3)


@pytest.mark.parametrize("degree", [1, 2, 3, 4, 8])
def test_pigous_workers_of_a_degree_attain_its_bound(degree: int) -> None:
    game = FlowGame.polynomial([[0.0] * degree + [1.0], [1.0]], demand=1.0)
    assert price_of_anarchy(game) == pytest.approx(pigou_bound(degree), rel=1e-9)


def test_the_bounds_are_those_of_the_literature() -> None:
    # Roughgarden 2003, table 1.
    assert [round(pigou_bound(degree), 3) for degree in (1, 2, 3, 4)] == [
        1.333,
        1.626,
        1.896,
        2.151,
    ]


def test_no_polynomial_game_exceeds_the_bound_of_its_degree() -> None:
    rng = np.random.default_rng(7)
    for degree in (1, 2, 3):
        prices = []
        for _ in range(8):
            coefficients = rng.random((3, degree + 1)) * (rng.random((3, degree + 1)) < 0.6)
            coefficients[:, 0] += 0.01
            game = FlowGame.polynomial(coefficients.tolist(), demand=float(rng.uniform(0.1, 3.0)))
            prices.append(price_of_anarchy(game))
        assert max(prices) <= pigou_bound(degree) + 1e-9
        assert min(prices) >= 1.0 - 1e-9


def test_the_optimum_is_that_of_a_general_minimiser() -> None:
    coefficients = np.array([[1.0, 0.5, 0.2], [0.2, 1.0, 0.0], [2.0, 0.0, 0.1]])
    powers = np.arange(3)

    def cost(flows: NDArray[np.float64]) -> float:
        return float((flows * (coefficients * flows[:, None] ** powers).sum(axis=1)).sum())

    found = minimize(
        cost,
        np.full(3, 1.0),
        bounds=[(0.0, 3.0)] * 3,
        constraints=LinearConstraint(np.ones((1, 3)), 3.0, 3.0),
        method="SLSQP",
        options={"ftol": 1e-14},
    )
    assert optimum_cost(FlowGame.polynomial(coefficients.tolist(), 3.0)) == pytest.approx(
        found.fun, rel=1e-8
    )


def test_mm1_queues_follow_the_square_root_rule() -> None:
    # Bell and Stidham 1983: spare capacity ∝ √μ in the optimum, equal in the equilibrium.
    rates, demand = np.array([1.0, 2.0, 4.0]), 5.0
    spare = rates.sum() - demand
    selfish = rates - spare / rates.size
    best = rates - np.sqrt(rates) * spare / np.sqrt(rates).sum()
    game = queues(rates.tolist(), demand)
    assert equilibrium_cost(game) == pytest.approx(float((selfish / (rates - selfish)).sum()))
    assert optimum_cost(game) == pytest.approx(float((best / (rates - best)).sum()))


def test_identical_mm1_queues_have_a_price_of_one() -> None:
    assert price_of_anarchy(queues([2.0, 2.0, 2.0], 5.0)) == pytest.approx(1.0)


@pytest.mark.parametrize("demand", [0.0, -1.0, float("nan"), float("inf")])
def test_a_demand_that_is_none_is_refused(demand: float) -> None:
    with pytest.raises(InputError, match="demand"):
        FlowGame.polynomial([[1.0]], demand)


def test_more_than_the_workers_carry_is_refused() -> None:
    with pytest.raises(InputError, match="cannot carry"):
        equilibrium_cost(queues([1.0, 1.0], 3.0))


def test_a_negative_coefficient_is_refused() -> None:
    with pytest.raises(InputError, match="worker 1"):
        FlowGame.polynomial([[1.0], [1.0, -1.0]], 1.0)
