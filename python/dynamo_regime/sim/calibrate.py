"""From measured latencies to the latency curve of a worker."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq, least_squares, minimize_scalar, nnls
from scipy.stats import f as f_distribution

from dynamo_regime.errors import InputError
from dynamo_regime.sim.latency import PoleModel

PARAMETERS = ("a", "b", "d", "n_sat", "beta")
BETAS = (0.25, 4.0)
"""β is sought between these."""
_FARTHEST = 99.0
"""n_sat is sought up to as many times the highest concurrency above it."""
_LEAST_LEVELS = 6
_WIDEST = 2.0
"""Where the ends of its interval differ by more than this factor, n_sat is not known."""
_CONFIDENCE = 0.95
_SIGNIFICANCE = 0.01


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """A fitted curve and how far it can be trusted.

    Attributes:
        model: The curve.
        relative_residuals: (measured − fitted) / measured, shape ``(n,)``.
        line_error: Root mean square of the relative residuals of the best straight line.
        error: The same of the curve.
    """

    model: PoleModel
    relative_residuals: NDArray[np.float64]
    line_error: float
    error: float
    _problem: "_Problem" = field(repr=False)
    _best: tuple[float, float] = field(repr=False)

    def interval(self, name: str) -> tuple[float, float]:
        """95 % interval of a parameter: the values that the measurements do not speak against.

        It is the profile-likelihood interval (Bates and Watts, Nonlinear Regression Analysis, 1988,
        section 6.1): all values with which, the other parameters being fitted anew, the sum of
        squares grows by no more than F(1, n − 5) allows. The parameters of a curve with a pole are
        strongly correlated, so that a curve can be known well whose parameters are not.

        Args:
            name: One of ``PARAMETERS``. β is looked for within ``BETAS`` only.

        Returns:
            Lowest and highest value; the latter of n_sat is infinite where nothing bounds it.
        """
        return self._problem.interval(name, *self._best)


def calibrate(concurrency: ArrayLike, latency_seconds: ArrayLike) -> Calibration:
    """Fit l(n) = a·n + b + d / (n_sat − n)^β (arXiv 2606.17081) by bounded least squares.

    Errors count relative to the measured latency, for those of a latency grow with it. a, b and d
    are ≥ 0 and follow from n_sat and β, which alone are searched for (variable projection, Golub
    and Pereyra 1973). n_sat is sought above the highest concurrency: there is no curve beyond it.

    Args:
        concurrency: Requests at once on the worker, shape ``(n,)``; several rows may have the same.
        latency_seconds: What was measured there, shape ``(n,)``.

    Raises:
        InputError: The values cannot be used, or do not show where the worker saturates.
    """
    n = np.asarray(concurrency, dtype=np.float64)
    y = np.asarray(latency_seconds, dtype=np.float64)
    _check(n, y)
    problem = _Problem(n, y)
    gap, beta = problem.best()
    weights, residuals = problem.fit(gap, beta)
    squares = float(residuals @ residuals)
    freedom = n.size - len(PARAMETERS)
    line_squares = nnls(problem.line, np.ones(n.size))[1] ** 2
    explained = (line_squares - squares) / 3
    unexplained = max(squares / freedom, np.finfo(float).tiny)
    if not f_distribution.sf(explained / unexplained, 3, freedom) < _SIGNIFICANCE:
        raise InputError(
            f"the measurements do not show where the worker saturates: up to {n.max():g} requests a"
            " straight line fits as well; measure at higher concurrency, until the latency bends"
        )
    a, b, d = weights.tolist()
    model = PoleModel(a=a, b=b, d=d, n_sat=problem.n_sat(gap), beta=beta)
    fit = Calibration(
        model=model,
        relative_residuals=residuals,
        line_error=math.sqrt(line_squares / n.size),
        error=math.sqrt(squares / n.size),
        _problem=problem,
        _best=(gap, beta),
    )
    low, high = fit.interval("n_sat")
    if high > _WIDEST * low:
        raise InputError(
            f"the latency bends, but the worker could saturate at {low:.4g} requests as well as at"
            f" {high:.4g}: measure beyond {n.max():g} at once, or more often"
        )
    return fit


def _check(n: NDArray[np.float64], y: NDArray[np.float64]) -> None:
    if n.ndim != 1 or n.shape != y.shape:
        raise InputError("concurrency and latency must be two columns of one length")
    for name, column in (("concurrency", n), ("latency", y)):
        wrong = ~(np.isfinite(column) & (column > 0))
        if wrong.any():
            row = int(wrong.argmax())
            raise InputError(f"row {row + 1}: the {name} is {column[row]:g}: it must be above 0")
    levels = np.unique(n).size
    if levels < _LEAST_LEVELS:
        raise InputError(
            f"there are {levels} different concurrencies: a curve with a pole takes at least"
            f" {_LEAST_LEVELS}, best up to where the latency bends"
        )


class _Problem:
    """The residuals as a function of n_sat, as log of its gap above the data, and of β."""

    def __init__(self, n: NDArray[np.float64], y: NDArray[np.float64]) -> None:
        self.line = np.column_stack([n / y, 1 / y])
        self._n, self._y, self._highest = n, y, float(n.max())
        # PoleModel follows its pole up to half a request before n_sat.
        self._gaps = (math.log(0.5), math.log(_FARTHEST * self._highest))

    def n_sat(self, gap: float) -> float:
        return self._highest + math.exp(gap)

    def fit(
        self, gap: float, beta: float, given: tuple[int, float] | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The best a, b and d ≥ 0, one of them perhaps given, and the relative residuals."""
        # This pole is 1 at the highest concurrency: for no β does it under- or overflow.
        pole = (1 + (self._highest - self._n) * math.exp(-gap)) ** -beta
        scale = math.exp(gap * beta)
        matrix = np.column_stack([self.line, pole / self._y])
        weights, target = np.zeros(3), np.ones(self._n.size)
        free = [0, 1, 2]
        if given is not None:
            k, value = given
            weights[k] = value / scale if k == 2 else value
            target = target - matrix[:, k] * weights[k]
            free.remove(k)
        weights[free] = nnls(matrix[:, free], target)[0]
        residuals = target - matrix[:, free] @ weights[free]
        weights[2] *= scale
        return weights, residuals

    def squares(self, gap: float, beta: float, given: tuple[int, float] | None = None) -> float:
        residuals = self.fit(gap, beta, given)[1]
        return float(residuals @ residuals)

    def best(self, given: tuple[int, float] | None = None) -> tuple[float, float]:
        """The gap's log and the β with the least sum of squares."""
        starts: list[tuple[float, float]] = [
            (gap, beta)
            for gap in np.linspace(*self._gaps, 12)[1:-1].tolist()
            for beta in (0.5, 1.0, 2.0)
        ]

        def residuals(x: NDArray[np.float64]) -> NDArray[np.float64]:
            return self.fit(float(x[0]), float(x[1]), given)[1]

        found = least_squares(
            residuals,
            min(starts, key=lambda start: self.squares(start[0], start[1], given)),
            bounds=((self._gaps[0], BETAS[0]), (self._gaps[1], BETAS[1])),
            xtol=1e-10,
            ftol=1e-10,
        )
        return float(found.x[0]), float(found.x[1])

    def interval(self, name: str, gap: float, beta: float) -> tuple[float, float]:
        """The values at which the least sum of squares is within the limit, around the best."""
        freedom = self._n.size - len(PARAMETERS)
        growth = f_distribution.ppf(_CONFIDENCE, 1, freedom) / freedom
        limit = max(self.squares(gap, beta), self._n.size * np.finfo(float).eps) * (1 + growth)
        if name == "n_sat":
            low, high = _edges(lambda x: self._least(BETAS, x, None) - limit, gap, self._gaps)
            return (
                self.n_sat(low) if low > self._gaps[0] else self._highest,
                self.n_sat(high) if high < self._gaps[1] else math.inf,
            )
        if name == "beta":
            return _edges(lambda x: self._least(self._gaps, None, x) - limit, beta, BETAS)
        k = PARAMETERS.index(name)
        value = float(self.fit(gap, beta)[0][k])
        return _edges(
            lambda x: self.squares(*self.best((k, x)), (k, x)) - limit, value, (0.0, math.inf)
        )

    def _least(self, bounds: tuple[float, float], gap: float | None, beta: float | None) -> float:
        """The least sum of squares over the one of gap and β that is not given."""
        found = minimize_scalar(
            lambda x: self.squares(x if gap is None else gap, x if beta is None else beta),
            bounds=bounds,
            method="bounded",
        )
        return float(found.fun)


def _edges(
    excess: Callable[[float], float], inside: float, bounds: tuple[float, float]
) -> tuple[float, float]:
    """Where ``excess`` comes to 0 on either side, or else the bound there."""
    return _edge(excess, inside, bounds[0], -1), _edge(excess, inside, bounds[1], 1)


def _edge(excess: Callable[[float], float], inside: float, bound: float, side: int) -> float:
    step = 0.01 * max(abs(inside), 1e-6)
    while True:
        outside = inside + side * step
        if side * (outside - bound) >= 0:
            if excess(bound) <= 0:
                return bound
            outside = bound
        if excess(outside) > 0:
            return float(brentq(excess, inside, outside, rtol=1e-4))
        inside, step = outside, 2 * step
