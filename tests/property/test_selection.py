"""``Router`` against numpy: the same costs, the same minima, the same probabilities."""

import math
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dynamo_regime import Router

Floats = NDArray[np.float64]

block_counts = st.one_of(
    st.integers(0, 20).map(float),  # many ties
    st.floats(0, 1e6),
    st.floats(0, allow_infinity=False, allow_nan=False),
    st.sampled_from([0.0, 5e-324, 1e308, 1.7976931348623157e308]),
)
weights = st.one_of(st.sampled_from([0.0, 0.1, 1.0, 10.0, 1e308]), st.floats(0, 1e3))
temperatures = st.one_of(
    st.sampled_from([5e-324, 0.1, 0.3, 0.7, 1.0, 10.0, 1e308]), st.floats(0.01, 10)
)
seeds = st.integers(0, 2**64 - 1)


@st.composite
def worker_blocks(draw: st.DrawFn) -> tuple[Floats, Floats]:
    """Prefill and active blocks of 1 to 20 workers."""
    pairs = draw(st.lists(st.tuples(block_counts, block_counts), min_size=1, max_size=20))
    prefill_blocks, active_blocks = np.array(pairs).T
    return prefill_blocks.copy(), active_blocks.copy()


def costs_by_numpy(weight: float, prefill_blocks: Floats, active_blocks: Floats) -> Floats:
    """ω · prefill_blocks + active_blocks, the largest float where that overflows."""
    with np.errstate(over="ignore"):
        costs: Floats = np.minimum(
            weight * prefill_blocks + active_blocks, np.finfo(np.float64).max
        )
    return costs


def softmax_by_numpy(costs: Floats, temperature: float) -> Floats:
    """p ∝ exp(−(c − min) / ((max − min) · τ)), in extended precision; uniform where max = min."""
    wide = costs.astype(np.longdouble)
    span = wide.max() - wide.min()
    if span == 0:
        return np.full(costs.size, 1 / costs.size)
    with np.errstate(over="ignore", under="ignore"):
        weight = np.exp(-((wide - wide.min()) / span) / np.longdouble(temperature))
    probabilities: Floats = (weight / weight.sum()).astype(np.float64)
    return probabilities


def chi_square_is_plausible(counts: NDArray[Any], probabilities: Floats) -> bool:
    """Whether counts come from these probabilities; a false alarm in 10⁷ (Wilson and Hilferty)."""
    draws = counts.sum()
    rare = probabilities * draws < 10
    observed = np.append(counts[~rare], counts[rare].sum())
    expected = np.append(probabilities[~rare], probabilities[rare].sum()) * draws
    impossible = probabilities == 0
    if counts[impossible].any():
        return False
    if expected[-1] < 10:
        # Too rare for the statistic: leave them out, unless they came out far too often.
        if observed[-1] > 40:
            return False
        observed, expected = observed[:-1], expected[:-1]
    freedom = observed.size - 1
    if freedom < 1:
        return True
    expected *= observed.sum() / expected.sum()
    statistic = ((observed - expected) ** 2 / expected).sum()
    limit = freedom * (1 - 2 / (9 * freedom) + 5.2 * math.sqrt(2 / (9 * freedom))) ** 3
    return bool(statistic < limit)


def draw_workers(
    router: Router, prefill_blocks: Floats, active_blocks: Floats, draws: int
) -> NDArray[Any]:
    """How often each worker was chosen in so many draws."""
    rows = [np.tile(blocks, (draws, 1)) for blocks in (prefill_blocks, active_blocks)]
    return np.bincount(router.select_batch(*rows).worker, minlength=prefill_blocks.size)


@given(worker_blocks(), weights, st.one_of(st.just(0.0), temperatures), seeds)
def test_costs_are_those_of_numpy_to_the_last_bit(
    blocks: tuple[Floats, Floats], weight: float, temperature: float, seed: int
) -> None:
    router = Router(temperature=temperature, prefill_weight=weight, seed=seed)
    decision = router.select(*blocks)
    costs = costs_by_numpy(weight, *blocks)
    assert decision.cost == costs[decision.worker]
    assert (decision.min_cost, decision.max_cost) == (costs.min(), costs.max())
    assert decision.prefill_blocks == blocks[0][decision.worker]
    assert decision.active_blocks == blocks[1][decision.worker]
    assert decision.candidates == costs.size


@given(worker_blocks(), weights, seeds)
def test_at_temperature_zero_exactly_the_cheapest_workers_are_chosen_and_equally_often(
    blocks: tuple[Floats, Floats], weight: float, seed: int
) -> None:
    costs = costs_by_numpy(weight, *blocks)
    cheapest = costs == costs.min()
    counts = draw_workers(Router(prefill_weight=weight, seed=seed), *blocks, draws=2_000)
    assert (counts[cheapest] > 0).all()
    assert (counts[~cheapest] == 0).all()
    assert chi_square_is_plausible(counts, cheapest / cheapest.sum())


@given(worker_blocks(), weights, temperatures, seeds)
def test_above_zero_workers_are_chosen_with_the_probabilities_of_the_softmax(
    blocks: tuple[Floats, Floats], weight: float, temperature: float, seed: int
) -> None:
    router = Router(temperature=temperature, prefill_weight=weight, seed=seed)
    probabilities = softmax_by_numpy(costs_by_numpy(weight, *blocks), temperature)
    counts = draw_workers(router, *blocks, draws=5_000)
    assert chi_square_is_plausible(counts, probabilities)


def test_the_chi_square_notices_another_temperature() -> None:
    prefill_blocks, active_blocks = np.array([0.0, 3.0, 5.0, 10.0]), np.zeros(4)
    counts = draw_workers(Router(temperature=0.7, seed=1), prefill_blocks, active_blocks, 100_000)
    assert chi_square_is_plausible(counts, softmax_by_numpy(prefill_blocks, 0.7))
    assert not chi_square_is_plausible(counts, softmax_by_numpy(prefill_blocks, 0.75))
    assert not chi_square_is_plausible(counts, softmax_by_numpy(prefill_blocks, 0.65))


@given(worker_blocks(), weights, st.one_of(st.just(0.0), temperatures), seeds)
def test_a_batch_and_single_selections_with_one_seed_choose_alike(
    blocks: tuple[Floats, Floats], weight: float, temperature: float, seed: int
) -> None:
    rows = [np.tile(array, (20, 1)) for array in blocks]
    batch = Router(temperature=temperature, prefill_weight=weight, seed=seed).select_batch(*rows)
    router = Router(temperature=temperature, prefill_weight=weight, seed=seed)
    assert batch.worker.tolist() == [router.select(*blocks).worker for _ in range(20)]


@given(st.integers(1, 1_024), seeds)
def test_one_worker_or_a_thousand_equal_ones_are_all_chosen_alike(workers: int, seed: int) -> None:
    even = np.full(workers, 7.0)
    for temperature in (0.0, 0.7):
        counts = draw_workers(Router(temperature=temperature, seed=seed), even, even, draws=2_000)
        assert chi_square_is_plausible(counts, np.full(workers, 1 / workers))
