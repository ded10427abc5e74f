"""Fits of the latency curve to latencies that were made from one."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import least_squares
from scipy.stats import f as f_distribution

from dynamo_regime.errors import InputError
from dynamo_regime.sim.calibrate import BETAS, PARAMETERS, calibrate
from dynamo_regime.sim.latency import PoleModel

TRUE = PoleModel(a=0.002, b=0.05, d=1.5, n_sat=110.0, beta=1.0)
Array = NDArray[np.float64]
LEVELS = np.array([1, 2, 4, 8, 16, 32, 48, 64, 80, 88, 96, 100, 104], dtype=float)


def measured(seed: int, noise: float = 0.02, levels: np.ndarray = LEVELS) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return TRUE.seconds(levels) * np.exp(noise * rng.standard_normal(levels.size))


def test_without_noise_the_curve_is_found_again() -> None:
    found = calibrate(LEVELS, TRUE.seconds(LEVELS)).model
    for name in PARAMETERS:
        assert getattr(found, name) == pytest.approx(getattr(TRUE, name), rel=1e-3), name


@pytest.mark.parametrize("name", ["n_sat", "beta"])
def test_an_interval_holds_the_truth_about_as_often_as_it_says(name: str) -> None:
    levels = np.repeat(LEVELS, 4)
    held = 0
    for seed in range(60):
        low, high = calibrate(levels, measured(seed, levels=levels)).interval(name)
        held += low <= getattr(TRUE, name) <= high
    assert held >= 52  # Of 57 expected, fewer come once in 100 times.


def least_squares_with(name: str, value: float, start: PoleModel, n: Array, y: Array) -> float:
    """The least sum of squares with one parameter given, by a plain search over the others."""
    others = [other for other in PARAMETERS if other != name]

    def residuals(x: Array) -> Array:
        p = dict(zip(others, x, strict=True)) | {name: value}
        return np.asarray((p["a"] * n + p["b"] + p["d"] / (p["n_sat"] - n) ** p["beta"]) / y - 1)

    low = {"a": 0.0, "b": 0.0, "d": 0.0, "n_sat": n.max() + 0.5, "beta": BETAS[0]}
    high = dict.fromkeys(PARAMETERS, np.inf) | {"beta": BETAS[1]}
    bounds = [low[other] for other in others], [high[other] for other in others]
    first = np.array([getattr(start, other) for other in others])
    found = least_squares(residuals, np.clip(first, *bounds), bounds=bounds, x_scale=first + 1e-9)
    return 2 * float(found.cost)


@pytest.mark.parametrize("name", PARAMETERS)
def test_at_the_ends_of_an_interval_the_fit_is_worse_by_what_the_f_distribution_allows(
    name: str,
) -> None:
    levels = np.repeat(LEVELS, 3)
    y = measured(1, levels=levels)
    fit = calibrate(levels, y)
    least = float(fit.relative_residuals @ fit.relative_residuals)
    allowed = least * (1 + f_distribution.ppf(0.95, 1, levels.size - 5) / (levels.size - 5))
    low, high = fit.interval(name)
    assert low < getattr(fit.model, name) < high
    ends = [end for end in (low, high) if end not in (0.0, levels.max(), *BETAS)]
    assert ends, "no end to look at"
    for end in ends:
        squares = least_squares_with(name, end, fit.model, levels, y)
        assert squares == pytest.approx(allowed, rel=2e-3), end


def test_the_curve_is_known_better_than_its_parameters() -> None:
    fit = calibrate(LEVELS, measured(3))
    assert fit.error < 0.03 < fit.line_error
    between = np.linspace(1, 104, 50)
    np.testing.assert_allclose(fit.model.seconds(between), TRUE.seconds(between), rtol=0.05)
    np.testing.assert_allclose(
        fit.relative_residuals, 1 - fit.model.seconds(LEVELS) / measured(3), atol=1e-9
    )


def test_units_do_not_matter() -> None:
    fit, scaled = calibrate(LEVELS, measured(4)), calibrate(LEVELS, 1000 * measured(4))
    assert scaled.model.n_sat == pytest.approx(fit.model.n_sat, rel=1e-3)
    assert scaled.model.b == pytest.approx(1000 * fit.model.b, rel=1e-2)


def test_measurements_far_below_saturation_are_refused() -> None:
    levels = np.arange(1.0, 21.0)
    rng = np.random.default_rng(0)
    flat = (0.002 * levels + 0.05) * np.exp(0.02 * rng.standard_normal(20))
    with pytest.raises(InputError, match="up to 20 requests a straight line fits as well"):
        calibrate(levels, flat)


def test_a_bend_that_does_not_tell_where_the_pole_is_is_refused() -> None:
    levels = np.repeat(np.linspace(1, 56, 8).round(), 8)
    with pytest.raises(
        InputError, match=r"could saturate at 6.* as well as at .*: measure beyond 56"
    ):
        calibrate(levels, measured(2, 0.01, levels))


@pytest.mark.parametrize(
    ("concurrency", "latency", "sentence"),
    [
        ([1, 2, 4], [1, 2], "two columns of one length"),
        ([1, 2, 0, 4, 5, 6], [1] * 6, "row 3: the concurrency is 0"),
        ([1, 2, 3, 4, 5, 6], [1, float("nan"), 1, 1, 1, 1], "row 2: the latency is nan"),
        ([1, 1, 2, 2, 4, 4, 8, 8], [1] * 8, "there are 4 different concurrencies"),
    ],
)
def test_values_that_cannot_be_used_are_refused(
    concurrency: list[float], latency: list[float], sentence: str
) -> None:
    with pytest.raises(InputError, match=sentence):
        calibrate(concurrency, latency)
