"""The optimum of a window, against brute force and textbook games."""

import numpy as np
import pytest

from dynamo_regime.anarchy import optimum
from dynamo_regime.errors import InputError
from dynamo_regime.sim.latency import PoleModel
from tests.unit.anarchy.games import brute_force, linear


@pytest.mark.parametrize("shape", ["linear", "pole", "flat beyond the pole"])
def test_the_optimum_is_that_of_brute_force_on_many_small_windows(shape: str) -> None:
    rng = np.random.default_rng(len(shape))
    proved = 0
    for _ in range(200):
        n, workers = int(rng.integers(1, 6)), int(rng.integers(1, 5))
        if shape == "linear":
            curves = [linear(*rng.uniform(0.01, 1.0, 2)) for _ in range(workers)]
        else:
            # Beyond n_sat the curve is flat and the cost no longer convex.
            n_sat = 20.0 if shape == "pole" else float(rng.uniform(1.5, 4.0))
            curves = [
                PoleModel(a=a, b=b, d=d, n_sat=n_sat, beta=1.0).seconds
                for a, b, d in rng.uniform(0.01, 1.0, (workers, 3))
            ]
        prefill = rng.choice([0.0, 0.3, 1.0, 2.5], (n, workers)) * rng.uniform(0.5, 1.0)
        taken = rng.integers(workers, size=n)
        found = optimum(taken, prefill, curves)
        best = brute_force(prefill, curves)
        assert found.lower_seconds <= best * (1 + 1e-12)
        assert found.upper_seconds >= best * (1 - 1e-12)
        if found.lower_seconds == pytest.approx(found.upper_seconds, rel=1e-12):
            proved += 1
            assert found.upper_seconds == pytest.approx(best, rel=1e-12)
        assert found.price[1] >= found.price[0] >= 1.0
    assert proved == 200 if shape != "flat beyond the pole" else proved > 100


def test_windows_of_up_to_eight_requests_on_four_workers() -> None:
    rng = np.random.default_rng(8)
    for n in (7, 8):
        curves = [linear(a, b) for a, b in rng.uniform(0.01, 1.0, (3, 2))]
        prefill = rng.uniform(0.0, 2.0, (n, 3))
        found = optimum(np.zeros(n, int), prefill, curves)
        assert found.upper_seconds == pytest.approx(brute_force(prefill, curves), rel=1e-12)


def test_on_identical_workers_without_caches_an_even_split_is_optimal() -> None:
    even = optimum([0, 1, 2, 0, 1, 2], np.zeros((6, 3)), [linear(1.0)] * 3)
    assert even.price == (1.0, 1.0)
    lopsided = optimum([0] * 6, np.zeros((6, 3)), [linear(1.0)] * 3)
    assert lopsided.price == (3.0, 3.0)  # 6 · 6 against 3 · (2 · 2).


def test_with_latencies_that_do_not_depend_on_load_the_cache_decides() -> None:
    prefill = np.array([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    found = optimum([1, 1, 0], prefill, [linear(0.0, 1.0)] * 2)
    assert found.assignment.tolist() == [0, 0, 1]
    assert found.price == (2.0, 2.0)


def test_a_realised_profile_is_never_better_than_the_optimum_found() -> None:
    # The curve falls to a third at its end: spreading is worse than crowding.
    def odd(n: np.ndarray) -> np.ndarray:
        return np.where(n < 3, n, n / 3)

    found = optimum([0, 0, 0], np.zeros((3, 2)), [odd, odd])
    assert found.upper_seconds == pytest.approx(found.realised_seconds)
    assert found.price[0] == 1.0


@pytest.mark.parametrize(
    ("worker", "prefill", "sentence"),
    [
        ([], np.zeros((0, 2)), "the window has no request"),
        ([0], np.zeros((1, 3)), r"give \(1, 2\)"),
        ([2], np.zeros((1, 2)), "a request's worker has no curve"),
        ([0], np.full((1, 2), -1.0), "a prefill time is negative or not finite"),
        ([0], np.full((1, 2), np.nan), "a prefill time is negative or not finite"),
    ],
)
def test_what_is_no_game_is_refused(worker: list[int], prefill: np.ndarray, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        optimum(worker, prefill, [linear(1.0)] * 2)


def test_a_curve_that_is_not_positive_is_refused() -> None:
    with pytest.raises(InputError, match="positive and finite up to 2 requests"):
        optimum([0, 0], np.zeros((2, 1)), [linear(1.0, -2.0)])
