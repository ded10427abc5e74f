"""Game 3 in the limit of many small requests: a flow that divides itself over workers.

With latency l_w(x) at flow x, selfish requests divide the demand so that every worker in use has
the same least latency (Wardrop 1952), while the social optimum has equal marginal costs, the
derivatives of x·l_w(x) (Pigou 1920). For polynomials with coefficients ≥ 0 of degree d the price
of anarchy is at most 1 / (1 − d·(d + 1)^(−(d + 1)/d)), which is 4/3 for d = 1, and Pigou's two
workers attain it (Roughgarden and Tardos 2002; Roughgarden 2003).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.polynomial import Polynomial
from numpy.typing import NDArray

from dynamo_regime.errors import InputError
from dynamo_regime.games.routing import Curve

_HALVINGS = 64
"""Of an interval, to less than its rounding."""


@dataclass(frozen=True, slots=True)
class FlowGame:
    """A demand over workers.

    Attributes:
        curves: Latency of each by the flow on it, nondecreasing; infinite where it has saturated.
        marginals: Derivative of flow · latency of each.
        demand: The flow in all.
    """

    curves: tuple[Curve, ...]
    marginals: tuple[Curve, ...]
    demand: float

    def __post_init__(self) -> None:
        """Refuse what cannot be.

        Raises:
            InputError: No positive demand, or no worker.
        """
        if not (np.isfinite(self.demand) and self.demand > 0.0):
            raise InputError(f"the demand is {self.demand}: it must be finite and above 0")
        if not self.curves or len(self.curves) != len(self.marginals):
            raise InputError("every worker needs a latency curve and its marginal cost")

    @classmethod
    def polynomial(cls, coefficients: Sequence[Sequence[float]], demand: float) -> "FlowGame":
        """Latencies Σ_k c[k]·x^k.

        Raises:
            InputError: A coefficient is negative, so that a worker would get faster with its load.
        """
        curves = [Polynomial(each) for each in coefficients]
        for worker, each in enumerate(coefficients):
            if not all(0.0 <= coefficient < np.inf for coefficient in each):
                raise InputError(f"a coefficient of worker {worker} is negative or not finite")
        marginals = [(Polynomial([0.0, 1.0]) * curve).deriv() for curve in curves]
        return cls(tuple(curves), tuple(marginals), demand)


def equilibrium_cost(game: FlowGame) -> float:
    """Σ x·l(x) where no flow gains by going elsewhere: the demand times the common latency."""
    level, _ = _fill(game.curves, game.demand)
    return level * game.demand


def optimum_cost(game: FlowGame) -> float:
    """The least Σ x·l(x)."""
    level, flows = _fill(game.marginals, game.demand)
    cost = sum(
        float(flow * curve(np.asarray(flow))) if flow > 0.0 else 0.0
        for flow, curve in zip(flows, game.curves, strict=True)
    )
    # The rest goes where the marginal cost is flat at this level.
    return cost + level * (game.demand - float(flows.sum()))


def price_of_anarchy(game: FlowGame) -> float:
    """Equilibrium / optimum, at least 1; 1 where nothing costs anything."""
    optimum = optimum_cost(game)
    return equilibrium_cost(game) / optimum if optimum > 0.0 else 1.0


def pigou_bound(degree: int) -> float:
    """The largest price of anarchy of polynomials of a degree with coefficients ≥ 0."""
    if degree == 0:
        return 1.0
    return float(1.0 / (1.0 - degree * (degree + 1.0) ** (-(degree + 1.0) / degree)))


def _fill(curves: Sequence[Curve], demand: float) -> tuple[float, NDArray[np.float64]]:
    """The level at which the demand is met, and the least flow of each that reaches it."""
    low = 0.0
    high = min(float(curve(np.asarray(demand))) for curve in curves)
    if not np.isfinite(high):
        # No worker carries all of it: raise the level until together they do.
        high = max(float(curve(np.asarray(0.0))) for curve in curves) or 1.0
        while _flows(curves, high, demand).sum() < demand:
            high *= 2.0
            if not np.isfinite(high):
                raise InputError(f"the workers cannot carry a flow of {demand:g} together")
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        if _flows(curves, middle, demand, most=True).sum() >= demand:
            high = middle
        else:
            low = middle
    return high, _flows(curves, low, demand)


def _flows(
    curves: Sequence[Curve], level: float, demand: float, *, most: bool = False
) -> NDArray[np.float64]:
    """The least flow of each curve that reaches a level; or the most that does not exceed it."""
    low, high = np.zeros(len(curves)), np.full(len(curves), demand)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        if (middle == low).all() | (middle == high).all():
            break
        value = np.array([float(c(x)) for c, x in zip(curves, middle, strict=True)])
        below = value <= level if most else value < level
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    if most:
        full = np.array([float(curve(np.asarray(demand))) for curve in curves]) <= level
        return np.where(full, demand, low)
    return low
