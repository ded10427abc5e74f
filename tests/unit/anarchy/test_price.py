"""The price of a window, its parts, and that of many windows together."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamo_regime.anarchy import (
    Costs,
    at_moment,
    combine,
    equilibrium_seconds,
    fitted,
    frozen,
    price,
)
from dynamo_regime.errors import InputError
from dynamo_regime.sim.latency import PoleModel
from tests.unit.anarchy.games import linear, requests

LINE = Costs(linear(0.1, 1.0), 0.05, "line", None)

GAMES = st.integers(1, 4).flatmap(
    lambda workers: st.lists(
        st.tuples(
            st.integers(0, workers - 1),
            st.floats(0.01, 100.0),
            st.integers(0, 50),
            st.floats(0.0, 1.0),
            st.floats(0.0, 1.0),
        ),
        min_size=1,
        max_size=20,
    ).map(lambda rows: (workers, rows))
)
Game = tuple[int, list[tuple[int, float, int, float, float]]]


def window_of(game: Game, *, workers: int | None = None, seconds: float = 1.0):  # type: ignore[no-untyped-def]
    count, rows = game
    prompt = [float(row[2]) for row in rows]
    best = [row[2] * row[3] for row in rows]
    cached = [row[2] * row[3] * row[4] for row in rows]
    table = requests(
        [row[0] for row in rows],
        [seconds * row[1] for row in rows],
        prompt=prompt,
        cached=cached,
        best=best,
        workers=count if workers is None else workers,
    )
    return at_moment(table, 0.0)


@given(GAMES)
def test_the_interval_begins_at_one_or_above_and_the_parts_add_up(game: Game) -> None:
    found = price(window_of(game), LINE)
    assert 1.0 <= found.low <= found.high * (1 + 1e-12)
    assert found.excess.total == pytest.approx(
        found.measured_seconds - found.optimum_high_seconds, abs=1e-6
    )
    assert found.frozen.realised_seconds == found.measured_seconds
    assert found.frozen.few_in_flight == (found.in_flight <= 4)


@given(GAMES, st.floats(0.01, 100.0))
def test_the_unit_of_time_does_not_matter(game: Game, scale: float) -> None:
    scaled = Costs(lambda n: scale * LINE.curve(n), scale * 0.05, "line", None)
    one, other = price(window_of(game), LINE), price(window_of(game, seconds=scale), scaled)
    assert other.low == pytest.approx(one.low, rel=1e-9)
    assert other.high == pytest.approx(one.high, rel=1e-9)
    assert other.frozen.price == pytest.approx(one.frozen.price, rel=1e-9)


@given(GAMES, st.randoms(use_true_random=False))
def test_the_names_of_workers_and_the_order_of_requests_do_not_matter(game: Game, random) -> None:  # type: ignore[no-untyped-def]
    workers, rows = game
    names = list(range(workers))
    random.shuffle(names)
    shuffled = [(names[row[0]], *row[1:]) for row in rows]
    random.shuffle(shuffled)
    one, other = price(window_of(game), LINE), price(window_of((workers, shuffled)), LINE)
    assert other.low == pytest.approx(one.low, rel=1e-9)
    assert other.high == pytest.approx(one.high, rel=1e-9)


@given(GAMES)
def test_an_idle_worker_more_never_makes_the_optimum_dearer(game: Game) -> None:
    one = price(window_of(game), LINE)
    more = price(window_of(game, workers=game[0] + 1), LINE)
    assert more.optimum_high_seconds <= one.optimum_high_seconds * (1 + 1e-9)
    assert more.realised_seconds == pytest.approx(one.realised_seconds)


@given(GAMES)
def test_at_rest_requests_pay_no_less_than_the_optimum_and_linear_games_at_most_5_halves(
    game: Game,
) -> None:
    window = window_of(game)
    rest, found = equilibrium_seconds(window, LINE), price(window, LINE)
    assert found.optimum_high_seconds * (1 - 1e-9) <= rest
    assert rest <= 2.5 * found.optimum_high_seconds * (1 + 1e-9)


def test_each_part_is_what_it_is_called() -> None:
    # Two on worker 0, none on 1, prompts of 10 blocks that are cached on 0.
    there: dict[str, Any] = {"prompt": [10.0, 10.0], "cached": [10.0, 10.0], "best": [10.0, 10.0]}
    steep = Costs(linear(1.0), 0.01, "line", None)
    crowded = price(at_moment(requests([0, 0], [2.0, 2.5], **there), 0.0), steep)
    # Optimal is one each: 1 + 1 + 10 blocks of prefill.
    assert crowded.optimum_high_seconds == pytest.approx(2.1)
    assert crowded.excess.imbalance == pytest.approx(4.0 - 2.0)
    assert crowded.excess.cache_loss == pytest.approx(-0.1)
    assert crowded.excess.queueing == pytest.approx(0.5)
    # One each, but the prefixes crossed.
    crossed: dict[str, Any] = {"prompt": [10.0, 10.0], "cached": [10.0, 0.0], "best": [10.0, 10.0]}
    lost = price(at_moment(requests([0, 1], [1.0, 1.1], **crossed), 0.0), steep)
    assert lost.excess.imbalance == pytest.approx(0.0)
    assert lost.low == 1.0  # Nothing may be cached on worker 0 for the second one.
    assert lost.high > 1.0  # But it may.


def test_the_papers_estimate_on_a_case_worked_by_hand() -> None:
    # Loads 3 and 1: frozen latencies 3 and 1 s, two slots each: 3 + 3 + 1 + 1 = 8.
    found = frozen([0, 0, 0, 1], [3.0, 3.0, 3.0, 1.0], np.zeros((4, 2)), [linear(1.0)] * 2)
    assert found.price == pytest.approx(10 / 8)
    assert (found.few_in_flight, found.below_one) == (True, False)
    # Its bias: the true optimum of that window is 2 + 2 on either worker.
    low = frozen([0, 0, 1, 1], [1.0] * 4, np.zeros((4, 2)), [linear(1.0)] * 2)
    assert low.price == pytest.approx(0.5)
    assert low.below_one


def test_a_long_trace_is_a_ratio_of_sums() -> None:
    found = combine([10.0, 1.0], [1.0, 1.0])
    assert found.price == 5.5
    assert found.low is not None
    assert found.low <= 5.5
    assert combine([4.0], [2.0]).low is None


def test_its_interval_holds_the_truth_about_as_often_as_it_says() -> None:
    held = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        bottom = rng.exponential(1.0, 60) + 0.1
        top = bottom * rng.normal(2.0, 0.3, 60)
        found = combine(top, bottom)
        assert found.low is not None
        assert found.high is not None
        held += found.low <= 2.0 <= found.high
    assert held >= 88  # Of 95 expected, fewer come once in 200 times.


@pytest.mark.parametrize(
    ("top", "bottom", "sentence"),
    [
        ([1.0], [1.0, 2.0], "two columns of one length"),
        ([], [], "two columns of one length"),
        ([1.0], [0.0], "not positive and finite"),
    ],
)
def test_sums_that_cannot_be_are_refused(
    top: list[float], bottom: list[float], sentence: str
) -> None:
    with pytest.raises(InputError, match=sentence):
        combine(top, bottom)


def test_costs_are_found_again_in_requests_that_were_made_from_them() -> None:
    rng = np.random.default_rng(5)
    true = PoleModel(a=0.01, b=0.2, d=2.0, n_sat=40.0, beta=1.0)
    groups = [1, 2, 4, 8, 16, 24, 30, 34, 36] * 6
    worker, start, latency, prompt = [], [], [], []
    for number, together in enumerate(groups):
        # Groups that do not overlap, all of whose members begin and end together.
        blocks = float(rng.integers(0, 20))
        seconds = float(true.seconds(together)) + 0.01 * blocks
        for _ in range(together):
            worker.append(number % 2)
            start.append(10.0 * number)
            latency.append(seconds)
            prompt.append(blocks)
    costs = fitted(requests(worker, latency, start=start, prompt=prompt))
    assert costs.origin == "pole"
    assert costs.seconds_per_block == pytest.approx(0.01, rel=0.3)
    loads = np.array([1.0, 8.0, 24.0, 36.0])
    np.testing.assert_allclose(costs.curve(loads), true.seconds(loads), rtol=0.1)


def test_without_a_bend_a_line_is_taken_and_said() -> None:
    n = np.repeat(np.arange(1, 9), 4)
    table = requests(
        [0] * n.size, (0.1 * n + 1.0).tolist(), start=np.arange(n.size * 10, step=10).tolist()
    )
    assert fitted(table).origin == "line"


def test_too_few_requests_to_fit_are_refused() -> None:
    with pytest.raises(InputError, match="3 requests are too few"):
        fitted(requests([0, 0, 1], [1.0, 1.0, 1.0]))
