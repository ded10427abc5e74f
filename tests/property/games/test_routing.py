"""What holds for every routing game."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dynamo_regime.games.routing import (
    CongestionGame,
    Curve,
    best_response,
    brute_force,
    costs_seconds,
    potential_seconds,
    social_cost_seconds,
    tolls_seconds,
)

_seconds = st.floats(0.0, 10.0)


Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def _line(slope: float, base: float) -> Curve:
    return lambda n: slope * n + base


@st.composite
def _games(draw: st.DrawFn) -> tuple[list[tuple[float, float]], Floats, Ints]:
    requests, workers = draw(st.integers(1, 5)), draw(st.integers(1, 3))
    lines = draw(st.lists(st.tuples(_seconds, _seconds), min_size=workers, max_size=workers))
    own = draw(st.lists(_seconds, min_size=requests * workers, max_size=requests * workers))
    choice = draw(st.lists(st.integers(0, workers - 1), min_size=requests, max_size=requests))
    return lines, np.array(own).reshape(requests, workers), np.array(choice)


@given(_games(), st.data())
@settings(deadline=None)
def test_the_potential_changes_by_what_a_mover_gains(
    drawn: tuple[list[tuple[float, float]], Floats, Ints], data: st.DataObject
) -> None:
    lines, own, choice = drawn
    game = CongestionGame.routing([_line(*line) for line in lines], own)
    mover = data.draw(st.integers(0, choice.size - 1))
    moved = choice.copy()
    moved[mover] = data.draw(st.integers(0, len(lines) - 1))
    gain = costs_seconds(game, choice)[mover] - costs_seconds(game, moved)[mover]
    fall = potential_seconds(game, choice) - potential_seconds(game, moved)
    assert fall == pytest.approx(gain, abs=1e-9)


@given(_games(), st.floats(0.001, 1000.0), st.data())
@settings(deadline=None)
def test_units_and_names_do_not_matter(
    drawn: tuple[list[tuple[float, float]], Floats, Ints], unit: float, data: st.DataObject
) -> None:
    lines, own, choice = drawn
    game = CongestionGame.routing([_line(*line) for line in lines], own)
    order = np.array(data.draw(st.permutations(range(len(lines)))))
    scaled = [(slope * unit, base * unit) for slope, base in lines]
    other = CongestionGame.routing([_line(*scaled[k]) for k in order], own[:, order] * unit)
    same = np.argsort(order)[choice]
    assert social_cost_seconds(other, same) == pytest.approx(
        social_cost_seconds(game, choice) * unit
    )
    assert tolls_seconds(other, same) == pytest.approx(tolls_seconds(game, choice) * unit)


@given(_games())
@settings(deadline=None, max_examples=50)
def test_another_idle_worker_never_raises_the_optimum(
    drawn: tuple[list[tuple[float, float]], Floats, Ints],
) -> None:
    lines, own, _ = drawn
    curves = [_line(*line) for line in lines]
    without = brute_force(CongestionGame.routing(curves, own))
    added = CongestionGame.routing([*curves, curves[0]], np.hstack([own, own[:, :1]]))
    assert brute_force(added).optimum_seconds <= without.optimum_seconds * (1 + 1e-9)


@given(_games())
@settings(deadline=None, max_examples=50)
def test_optimum_best_and_worst_equilibrium_are_in_order_and_within_five_halves(
    drawn: tuple[list[tuple[float, float]], Floats, Ints],
) -> None:
    lines, own, choice = drawn
    game = CongestionGame.routing([_line(*line) for line in lines], own)
    found = brute_force(game)
    reached = social_cost_seconds(game, best_response(game, choice))
    assert 1.0 - 1e-9 <= found.price_of_stability <= found.price_of_anarchy + 1e-9
    assert found.price_of_anarchy <= 2.5 + 1e-6
    assert reached <= found.worst_equilibrium_seconds * (1 + 1e-6) + 1e-9
