"""The log of decisions: everything once, in bounded memory, with the loss counted."""

import dataclasses
import threading
import time
from typing import Any

import numpy as np
import pytest

from dynamo_regime import Router

CAPACITY = 4096  # decisions that a thread keeps, as documented

DTYPES = {
    "time_ns": np.uint64,
    "version": np.uint64,
    "temperature": np.float64,
    "prefill_weight": np.float64,
    "worker_id": np.uint64,
    "dp_rank": np.uint32,
    "candidates": np.uint32,
    "cost": np.float64,
    "min_cost": np.float64,
    "max_cost": np.float64,
    "prefill_blocks": np.float64,
    "active_blocks": np.float64,
    "request_blocks": np.float64,
    "active_requests": np.float64,
    "overlap_blocks": np.float64,
    "best_overlap_blocks": np.float64,
    "elapsed_seconds": np.float64,
    "pool": np.dtype("<U10"),
}


def numbered(router: Router, numbers: range) -> None:
    """Decide once for each number, which then is the decision's cost."""
    for number in numbers:
        router.select([0.0], [float(number)])


def test_the_log_says_what_the_decisions_said() -> None:
    router = Router(temperature=0.7, prefill_weight=0.3, seed=1)
    before = time.time_ns()
    decided = [router.select([n, 9, 9], [5, 0, n]) for n in range(10)]
    after = time.time_ns()
    log = router.decisions()
    assert len(log) == 10
    assert log.worker_id.tolist() == [decision.worker for decision in decided]
    shared = {field.name for field in dataclasses.fields(log)} & set(dir(decided[0]))
    assert len(shared) == 10
    for name in shared:
        assert getattr(log, name).tolist() == [getattr(decision, name) for decision in decided]
    assert before <= log.time_ns.min() <= log.time_ns.max() <= after
    assert set(log.pool.tolist()) == {"aggregated"}


def test_every_column_has_its_type_even_when_there_is_no_row() -> None:
    router = Router()
    empty = router.decisions()
    router.select([1.0], [1.0])
    for log, rows in ((empty, 0), (router.decisions(), 1)):
        assert {name: column.dtype for name, column in log.to_dict().items()} == DTYPES
        assert {column.shape for column in log.to_dict().values()} == {(rows,)}


def test_what_a_router_without_dynamo_cannot_know_is_nan() -> None:
    router = Router()
    router.select([1.0], [1.0])
    log = router.decisions()
    for name in ("request_blocks", "active_requests", "overlap_blocks", "best_overlap_blocks"):
        assert np.isnan(getattr(log, name)).all()


def test_each_row_of_a_batch_is_a_decision_of_the_same_moment() -> None:
    router = Router()
    batch = router.select_batch(np.arange(12.0).reshape(4, 3), np.zeros((4, 3)))
    log = router.decisions()
    assert log.worker_id.tolist() == batch.worker.tolist()
    assert log.cost.tolist() == batch.cost.tolist()
    assert np.unique(log.time_ns).size == 1


def test_a_decision_is_returned_once() -> None:
    router = Router()
    numbered(router, range(3))
    assert router.decisions().cost.tolist() == [0, 1, 2]
    numbered(router, range(3, 5))
    assert router.decisions().cost.tolist() == [3, 4]
    assert len(router.decisions()) == 0


def test_an_overfull_log_keeps_the_latest_and_counts_the_rest() -> None:
    router = Router()
    numbered(router, range(CAPACITY + 904))
    log = router.decisions()
    assert log.cost.tolist() == list(range(904, CAPACITY + 904))
    assert log.dropped == 904
    numbered(router, range(2))
    log = router.decisions()
    assert (log.cost.tolist(), log.dropped) == ([0, 1], 0)


def test_recent_decisions_are_the_latest_and_stay() -> None:
    router = Router()
    numbered(router, range(5))
    assert router.recent_decisions(2).cost.tolist() == [3, 4]
    assert router.recent_decisions(0).cost.tolist() == []
    assert router.recent_decisions(10**6).cost.tolist() == [0, 1, 2, 3, 4]
    assert router.decisions().cost.tolist() == [0, 1, 2, 3, 4]
    assert router.recent_decisions(2).cost.tolist() == [3, 4]


def test_the_decisions_of_threads_that_have_ended_are_kept() -> None:
    router = Router()
    for thread in [
        threading.Thread(target=numbered, args=(router, range(n, n + 100))) for n in (0, 100, 200)
    ]:
        thread.start()
        thread.join()
    assert router.decisions().cost.tolist() == list(range(300))


def test_decisions_cannot_be_reassigned_and_print_their_size() -> None:
    router = Router()
    numbered(router, range(3))
    log: Any = router.decisions()
    assert repr(log) == "Decisions(rows=3, dropped=0)"
    with pytest.raises(dataclasses.FrozenInstanceError):
        log.dropped = 1
