import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import LinearConstraint, minimize

from dynamo_regime.errors import InputError
from dynamo_regime.games.serving import Objectives, WorkerCurve, serving_game
from dynamo_regime.games.split import (
    SplitGame,
    integer_equilibrium,
    integer_optimum,
    social_optimum,
    split_at,
    variational_equilibrium,
)
from dynamo_regime.sim import PoleModel

PREFILL = PoleModel(a=0.001, b=0.06, d=4.384, n_sat=112.0, beta=1.159)
DECODE = PoleModel(a=2e-5, b=0.0206, d=0.0, n_sat=1e6, beta=1.0)
OBJECTIVES = Objectives(ttft_seconds=0.3, itl_seconds=0.025)


def logarithmic(workers: float, prefill: float, decode: float, external: float) -> SplitGame:
    return SplitGame(
        workers,
        prefill=lambda x: prefill * math.log(x),
        decode=lambda x: decode * math.log(x),
        idling=lambda x: external * math.log(x),
    )


def calibrated(workers: int, in_flight: float, output_tokens: float = 256.0) -> SplitGame:
    return serving_game(
        WorkerCurve.of_model(PREFILL),
        WorkerCurve.of_model(DECODE),
        OBJECTIVES,
        workers=workers,
        in_flight=in_flight,
        output_tokens=output_tokens,
    )


def test_log_utilities_are_split_in_proportion_to_their_weights() -> None:
    game = logarithmic(12.0, prefill=1.0, decode=3.0, external=2.0)
    selfish, best = variational_equilibrium(game), social_optimum(game)
    assert selfish.prefill_workers == pytest.approx(12.0 * 1 / 4, rel=1e-6)
    assert best.prefill_workers == pytest.approx(12.0 * (1 + 2) / (1 + 2 + 3), rel=1e-6)
    # The price of a worker: Σ weights / N.
    assert selfish.prefill_marginal == pytest.approx(4 / 12, rel=1e-5)
    assert selfish.decode_marginal == pytest.approx(4 / 12, rel=1e-5)


def test_linear_latencies_are_split_by_the_square_roots_of_their_slopes() -> None:
    # Minimise a_p·C/x_p / S_p + a_d·C/x_d / S_d: x ∝ √(a/S).
    a_p, a_d = 0.004, 0.0002
    game = serving_game(
        WorkerCurve.of_model(PoleModel(a=a_p, b=0.1, d=0.0, n_sat=1e6, beta=1.0)),
        WorkerCurve.of_model(PoleModel(a=a_d, b=0.01, d=0.0, n_sat=1e6, beta=1.0)),
        OBJECTIVES,
        workers=8,
        in_flight=40.0,
        output_tokens=100.0,
    )
    ratio = math.sqrt((a_p / 0.3) / (a_d / 0.025))
    found = variational_equilibrium(game)
    assert found.prefill_workers / found.decode_workers == pytest.approx(ratio, rel=1e-5)


@pytest.mark.parametrize("game", [calibrated(6, 128.0), logarithmic(7.0, 2.0, 1.0, 0.5)])
def test_where_the_optimum_is_the_marginals_differ_by_the_externality(game: SplitGame) -> None:
    best, selfish = social_optimum(game), variational_equilibrium(game)
    assert best.external_marginal > 0.0
    assert best.decode_marginal - best.prefill_marginal == pytest.approx(
        best.external_marginal, rel=1e-4
    )
    assert best.prefill_workers > selfish.prefill_workers
    assert best.welfare > selfish.welfare


def test_with_quadratic_utilities_the_shift_is_the_externality_over_the_curvatures() -> None:
    external = 0.7
    game = SplitGame(
        10.0,
        prefill=lambda x: 4.0 * x - 0.5 * 0.3 * x**2,
        decode=lambda x: 5.0 * x - 0.5 * 0.2 * x**2,
        idling=lambda x: external * x,
    )
    shift = social_optimum(game).prefill_workers - variational_equilibrium(game).prefill_workers
    assert shift == pytest.approx(external / (0.3 + 0.2), rel=1e-6)


@pytest.mark.parametrize("game", [calibrated(6, 128.0), calibrated(12, 400.0)])
def test_a_general_minimiser_finds_the_same_splits(game: SplitGame) -> None:
    def solved(welfare: bool) -> float:
        def loss(x: NDArray[np.float64]) -> float:
            own = game.prefill(float(x[0])) + game.decode(float(x[1]))
            return -own - (game.idling(float(x[0])) if welfare else 0.0)

        found = minimize(
            loss,
            np.array([game.workers / 2, game.workers / 2]),
            bounds=[
                (game.least_prefill + 1e-3, game.workers),
                (game.least_decode + 1e-3, game.workers),
            ],
            constraints=LinearConstraint(np.ones((1, 2)), -np.inf, game.workers),
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 500},
        )
        return float(found.x[0])

    assert variational_equilibrium(game).prefill_workers == pytest.approx(solved(False), rel=2e-3)
    assert social_optimum(game).prefill_workers == pytest.approx(solved(True), rel=2e-3)


def test_the_equilibrium_is_where_the_marginals_are_equal() -> None:
    found = variational_equilibrium(calibrated(6, 128.0))
    assert found.prefill_marginal == pytest.approx(found.decode_marginal, rel=1e-4)


def test_no_whole_split_is_better_than_the_one_named() -> None:
    game = calibrated(9, 200.0)
    by_hand = max(range(1, 9), key=game.welfare)
    assert integer_optimum(game) == by_hand
    assert integer_equilibrium(game) <= by_hand


def test_shorter_answers_shift_the_optimum_to_prefill_and_leave_the_equilibrium() -> None:
    long, short = calibrated(8, 128.0, 1000.0), calibrated(8, 128.0, 20.0)
    assert social_optimum(short).prefill_workers > social_optimum(long).prefill_workers
    assert variational_equilibrium(short).prefill_workers == pytest.approx(
        variational_equilibrium(long).prefill_workers
    )


def test_the_welfare_of_the_game_is_that_of_its_latencies() -> None:
    game = calibrated(6, 96.0)
    ttft, itl = float(PREFILL.seconds(96 / 2)), float(DECODE.seconds(96 / 4))
    assert game.welfare(2) == pytest.approx(OBJECTIVES.welfare(ttft, itl, 256.0))
    assert split_at(game, 2.0).welfare == game.welfare(2)


def test_a_measured_curve_is_convex_and_passes_below_the_points() -> None:
    n = [1.0, 2.0, 4.0, 8.0, 16.0]
    measured = [0.10, 0.12, 0.11, 0.30, 0.50]
    curve = WorkerCurve.through(n, measured)
    between = curve.seconds(np.linspace(1.0, 30.0, 200))
    assert (np.diff(between) >= -1e-12).all()
    assert (np.diff(between, 2) >= -1e-9).all()
    assert all(curve.at(at) <= seconds + 1e-12 for at, seconds in zip(n, measured, strict=True))
    assert curve.at(1.0) == pytest.approx(0.10)
    assert curve.at(16.0) == pytest.approx(0.50)


def test_too_few_workers_for_the_load_are_refused() -> None:
    with pytest.raises(InputError, match=r"2 workers are too few: prefill needs more than 3\.59"):
        calibrated(2, 400.0)


@pytest.mark.parametrize("objectives", [(0.0, 0.1), (0.1, -1.0), (math.nan, 0.1)])
def test_an_objective_that_is_none_is_refused(objectives: tuple[float, float]) -> None:
    with pytest.raises(InputError, match="objective"):
        Objectives(*objectives)


def test_a_load_that_is_none_is_refused() -> None:
    with pytest.raises(InputError, match="requests in flight"):
        calibrated(4, 0.0)


def test_one_measured_point_is_no_curve() -> None:
    with pytest.raises(InputError, match="two measured points"):
        WorkerCurve.through([1.0], [0.1])
