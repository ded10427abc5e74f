"""One request, one worker: ``Router.select`` and its batch form."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dynamo_regime import Decision, Router

IN_PLACE = [np.float64, np.float32, np.int64, np.uint32]


def test_the_cheapest_worker_is_taken_at_temperature_zero() -> None:
    router = Router(prefill_weight=2.0)
    decision = router.select([10, 1, 5], [0, 20, 3])
    assert decision.worker == 2
    assert (decision.cost, decision.min_cost, decision.max_cost) == (13.0, 13.0, 22.0)


def test_a_decision_carries_the_grounds_it_was_taken_on() -> None:
    decision = Router(prefill_weight=0.5).select([8.0, 6.0], [1.0, 3.0])
    assert decision.worker == 0
    assert (
        decision.cost == decision.prefill_weight * decision.prefill_blocks + decision.active_blocks
    )
    assert (decision.prefill_blocks, decision.active_blocks) == (8.0, 1.0)
    assert (decision.candidates, decision.temperature, decision.version) == (2, 0.0, 1)


def test_a_decision_prints_every_field_it_has() -> None:
    text = repr(Router().select([1.0], [2.5]))
    fields = [name for name in dir(Decision) if not name.startswith("_")]
    assert text.startswith("Decision(worker=0, cost=3.5, ")
    assert all(f"{name}=" in text for name in fields)


def test_a_decision_is_equal_to_itself_and_not_to_another() -> None:
    router = Router()
    decision = router.select([1.0], [2.5])
    assert decision == decision
    assert decision != router.select([1.0], [3.5])


def test_a_decision_cannot_be_changed() -> None:
    decision: Any = Router().select([1.0], [2.5])
    with pytest.raises(AttributeError):
        decision.worker = 3


def test_the_prefill_weight_decides_between_cache_and_load() -> None:
    prefill_blocks, active_blocks = [0, 10], [8, 0]
    assert Router(prefill_weight=1.0).select(prefill_blocks, active_blocks).worker == 0
    assert Router(prefill_weight=0.5).select(prefill_blocks, active_blocks).worker == 1


@pytest.mark.parametrize("active_type", IN_PLACE)
@pytest.mark.parametrize("prefill_type", IN_PLACE)
def test_every_mix_of_element_types_gives_the_same_worker(
    prefill_type: type[np.generic], active_type: type[np.generic]
) -> None:
    prefill_blocks = np.array([7, 2, 9, 3], dtype=prefill_type)
    active_blocks = np.array([1, 9, 1, 4], dtype=active_type)
    decision = Router().select(prefill_blocks, active_blocks)
    assert (decision.worker, decision.cost, decision.max_cost) == (3, 7.0, 11.0)
    batch = Router().select_batch(np.tile(prefill_blocks, (2, 1)), np.tile(active_blocks, (2, 1)))
    assert batch.worker.tolist() == [3, 3]
    assert batch.cost.tolist() == [7.0, 7.0]


def misaligned(values: list[int]) -> np.ndarray:
    """The values as float64 at an odd address."""
    buffer = np.frombuffer(b"\0" + np.array(values, np.float64).tobytes(), np.uint8)
    return buffer[1:].view(np.float64)


FORMS: dict[str, Callable[[list[int]], Any]] = {
    "list": list,
    "tuple": tuple,
    "float16": lambda values: np.array(values, np.float16),
    "int8": lambda values: np.array(values, np.int8),
    "uint64": lambda values: np.array(values, np.uint64),
    "longdouble": lambda values: np.array(values, np.longdouble),
    "big-endian float64": lambda values: np.array(values, ">f8"),
    "big-endian int64": lambda values: np.array(values, ">i8"),
    "strided": lambda values: np.repeat(np.array(values, np.float64), 2)[::2],
    "reversed": lambda values: np.array(values[::-1], np.int64)[::-1],
    "misaligned": misaligned,
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_other_types_and_layouts_are_read_for_what_they_mean(
    form: Callable[[list[int]], Any],
) -> None:
    decision = Router().select(form([7, 2, 9, 3]), form([1, 9, 1, 4]))
    assert (decision.worker, decision.cost, decision.max_cost) == (3, 7.0, 11.0)


def test_a_batch_in_fortran_order_keeps_requests_and_workers_apart() -> None:
    prefill_blocks = np.array([[0, 5, 5], [5, 0, 5]], dtype=np.float64)
    active_blocks = np.zeros((2, 3))
    batch = Router().select_batch(np.asfortranarray(prefill_blocks), active_blocks)
    assert batch.worker.tolist() == [0, 1]
    batch = Router().select_batch(
        np.asfortranarray(prefill_blocks), np.asfortranarray(active_blocks)
    )
    assert batch.worker.tolist() == [0, 1]


def test_a_batch_decides_each_row_as_select_would() -> None:
    rng = np.random.default_rng(5)
    prefill_blocks = rng.integers(0, 50, (200, 7)).astype(np.uint32)
    active_blocks = rng.random((200, 7)) * 100
    batch = Router(prefill_weight=1.5).select_batch(prefill_blocks, active_blocks)
    router = Router(prefill_weight=1.5)
    singles = [router.select(*row) for row in zip(prefill_blocks, active_blocks, strict=True)]
    assert len(batch) == 200
    assert batch.worker.tolist() == [single.worker for single in singles]
    assert batch.cost.tolist() == [single.cost for single in singles]
    assert batch.min_cost.tolist() == [single.min_cost for single in singles]
    assert batch.max_cost.tolist() == [single.max_cost for single in singles]
    assert (batch.candidates, batch.temperature, batch.prefill_weight, batch.version) == (
        7,
        0.0,
        1.5,
        1,
    )
    assert batch.worker.dtype == np.int64
    assert batch.cost.dtype == np.float64


def test_a_batch_of_no_requests_decides_nothing() -> None:
    router = Router()
    batch = router.select_batch(np.empty((0, 4)), np.empty((0, 4)))
    assert (len(batch), batch.worker.tolist(), len(router.decisions())) == (0, [], 0)


def test_a_seed_and_one_thread_give_the_same_workers_again() -> None:
    def workers(seed: int) -> list[int]:
        router = Router(temperature=1.0, seed=seed)
        singles = [router.select([1, 2, 3, 4], [0, 0, 0, 0]).worker for _ in range(100)]
        batch = router.select_batch(np.ones((100, 4)), np.ones((100, 4)))
        return [*singles, *batch.worker.tolist()]

    assert workers(7) == workers(7)
    assert workers(7) != workers(8)


def test_routers_without_a_seed_choose_differently() -> None:
    even = np.ones((64, 16))
    assert (
        Router().select_batch(even, even).worker.tolist()
        != Router().select_batch(even, even).worker.tolist()
    )
