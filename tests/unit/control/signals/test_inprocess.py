"""Readings from decisions and finished requests that a test makes up."""

import dataclasses
import math
from dataclasses import dataclass, field
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from numpy.typing import NDArray

from dynamo_regime.control.signals.inprocess import InProcess
from dynamo_regime.target import Decisions, FinishedRequests

BLOCK = 16


def decisions(*rows: dict[str, Any], dropped: int = 0) -> Decisions:
    """Decisions with these columns; the others as of an idle aggregated worker 0."""

    def column(name: str, default: object, kind: Any) -> NDArray[Any]:
        return np.array([row.get(name, default) for row in rows], dtype=kind)

    loads = ("prefill_blocks", "active_blocks", "active_requests", "request_blocks")
    costs = ("temperature", "prefill_weight", "cost", "min_cost", "max_cost")
    overlaps = ("overlap_blocks", "best_overlap_blocks")
    return Decisions(
        **{name: column(name, 0.0, np.float64) for name in (*loads, *costs, *overlaps)},
        elapsed_seconds=column("elapsed_seconds", math.nan, np.float64),
        time_ns=column("time_ns", 0, np.uint64),
        version=column("version", 1, np.uint64),
        worker_id=column("worker_id", 0, np.uint64),
        dp_rank=column("dp_rank", 0, np.uint32),
        candidates=column("candidates", 1, np.uint32),
        pool=column("pool", "aggregated", np.str_),
        dropped=dropped,
    )


def requests(*rows: dict[str, Any], lagged: int = 0) -> FinishedRequests:
    """Finished requests with these columns; of the others nothing is known."""

    def column(name: str) -> NDArray[np.float64]:
        return np.array([row.get(name, math.nan) for row in rows], dtype=np.float64)

    columns: dict[str, Any] = {
        field.name: column(field.name)
        for field in dataclasses.fields(FinishedRequests)
        if field.type == NDArray[np.float64]
    }
    ids = ("model", "prefill_worker_id", "prefill_dp_rank", "decode_worker_id", "decode_dp_rank")
    columns |= {name: [row.get(name) for row in rows] for name in ids}
    return FinishedRequests(
        **columns,
        request_id=[str(index) for index in range(len(rows))],
        sequence_hashes=[np.empty(0, np.uint64) for _ in rows],
        lagged=lagged,
    )


@dataclass
class Frontend:
    decided: Decisions = field(default_factory=decisions)
    finished: FinishedRequests = field(default_factory=requests)

    def decisions(self) -> Decisions:
        drained, self.decided = self.decided, decisions()
        return drained

    def finished_requests(self) -> FinishedRequests:
        drained, self.finished = self.finished, requests()
        return drained


@pytest.fixture
def frontend() -> Frontend:
    return Frontend()


def source(frontend: Frontend, minimum_count: int = 5) -> InProcess:
    return InProcess(frontend, 5.0, BLOCK, kv_blocks=1024.0, minimum_count=minimum_count)


def test_quantiles_are_of_the_latencies_of_the_window(frontend: Frontend) -> None:
    one = source(frontend)
    one.read(0.0)
    for second in range(1, 11):
        frontend.finished = requests(*({"ttft_seconds": float(second)} for _ in range(20)))
        reading = one.read(float(second))
    assert reading.window == 5.0
    assert reading.ttft is not None
    assert reading.ttft.count == 100
    assert reading.ttft.p50 is not None
    assert reading.ttft.p50.value_seconds == 8.0
    assert reading.ttft.p99 is not None
    assert reading.ttft.p99.value_seconds == 10.0


@given(st.lists(st.floats(0, 1e6), min_size=5, max_size=300))
def test_the_p99_is_the_smallest_latency_that_99_percent_do_not_exceed(
    seconds: list[float],
) -> None:
    frontend = Frontend()
    one = source(frontend)
    one.read(0.0)
    frontend.finished = requests(*({"ttft_seconds": value} for value in seconds))
    ttft = one.read(1.0).ttft
    assert ttft is not None
    assert ttft.p99 is not None
    assert ttft.p99.value_seconds in seconds
    assert sum(value <= ttft.p99.value_seconds for value in seconds) >= 0.99 * len(seconds)
    assert sum(value < ttft.p99.value_seconds for value in seconds) < 0.99 * len(seconds)


def test_few_or_unknown_latencies_have_no_quantile(frontend: Frontend) -> None:
    one = source(frontend)
    one.read(0.0)
    known, unknown = {"ttft_seconds": 1.0}, {"ttft_seconds": math.nan}
    frontend.finished = requests(known, known, known, known, unknown, {"ttft_seconds": -1.0})
    ttft = one.read(1.0).ttft
    assert ttft is not None
    assert (ttft.count, ttft.p99) == (4, None)


def test_rates_shares_speed_and_losses_are_of_the_window(frontend: Frontend) -> None:
    one = source(frontend)
    one.read(0.0)
    hit = {"request_blocks": 10.0, "overlap_blocks": 4.0, "best_overlap_blocks": 8.0}
    unknown = {"request_blocks": 90.0, "overlap_blocks": math.nan, "best_overlap_blocks": math.nan}
    frontend.decided = decisions(hit, hit, unknown, dropped=2)
    prefilled = {"input_tokens": 1000.0, "cached_tokens": 200.0, "prefill_seconds": 0.4}
    frontend.finished = requests(prefilled, {"input_tokens": 500.0}, lagged=3)
    reading = one.read(2.0)
    assert reading.decision_rate == 1.5
    assert (reading.overlap_chosen, reading.overlap_best) == (0.4, 0.8)
    assert reading.prefill_tokens_per_second == 2000.0
    assert reading.dropped == 5


def test_what_was_drained_first_is_of_unknown_age_and_not_counted(frontend: Frontend) -> None:
    frontend.decided = decisions({}, {}, {})
    frontend.finished = requests(*({"ttft_seconds": 1.0} for _ in range(9)))
    reading = source(frontend).read(0.0)
    assert (reading.ttft, reading.decision_rate) == (None, None)


def test_a_workers_load_is_that_of_its_latest_decision_with_that_request(
    frontend: Frontend,
) -> None:
    frontend.decided = decisions(
        {"worker_id": 3, "prefill_blocks": 99.0},
        {
            "worker_id": 3,
            "prefill_blocks": 10.0,
            "active_blocks": 50.0,
            "request_blocks": 8.0,
            "overlap_blocks": 2.0,
            "active_requests": 4.0,
        },
    )
    (worker,) = source(frontend).read(0.0).workers or ()
    assert worker.worker_id == 3
    assert worker.prefill_tokens == (10 + 8 - 2) * BLOCK
    assert worker.decode_blocks == 58.0
    assert worker.active_requests == 5.0
    assert (worker.pool, worker.kv_blocks) == ("aggregated", 1024.0)


def test_a_worker_in_two_pools_is_two_loads_and_decode_has_no_prefill(frontend: Frontend) -> None:
    request = {"worker_id": 1, "request_blocks": 8.0}
    frontend.decided = decisions({**request, "pool": "prefill"}, {**request, "pool": "decode"})
    decode, prefill = source(frontend).read(0.0).workers or ()
    assert (decode.pool, decode.prefill_tokens, decode.decode_blocks) == ("decode", 0.0, 8.0)
    assert (prefill.pool, prefill.prefill_tokens, prefill.decode_blocks) == (
        "prefill",
        8.0 * BLOCK,
        0.0,
    )


def test_a_backlog_shrinks_at_the_prefill_speed_until_it_is_gone(frontend: Frontend) -> None:
    one = source(frontend)
    one.read(0.0)
    frontend.decided = decisions({"prefill_blocks": 100.0})
    frontend.finished = requests({"input_tokens": 400.0, "prefill_seconds": 1.0})
    backlogs = []
    for time in (1.0, 2.0, 4.0, 8.0):
        (worker,) = one.read(time).workers or ()
        backlogs.append(worker.prefill_tokens)
    assert backlogs == [1600.0, 1200.0, 400.0, 0.0]


def test_finished_requests_free_their_blocks_on_the_worker_that_decoded_them(
    frontend: Frontend,
) -> None:
    one = source(frontend)
    frontend.decided = decisions(
        {"worker_id": 2**63 + 1, "active_blocks": 40.0, "active_requests": 1.0}
    )
    one.read(0.0)
    frontend.finished = requests(
        {
            "decode_worker_id": 2**63 + 1,
            "decode_dp_rank": 0,
            "input_tokens": 128.0,
            "output_tokens": 32.0,
        }
    )
    (worker,) = one.read(1.0).workers or ()
    assert (worker.decode_blocks, worker.active_requests) == (30.0, 1.0)


def test_without_the_block_size_there_is_no_backlog_until_it_is_said(frontend: Frontend) -> None:
    frontend.decided = decisions({"prefill_blocks": 10.0, "active_blocks": 5.0})
    one = InProcess(frontend, 5.0, None)
    (worker,) = one.read(0.0).workers or ()
    assert (worker.prefill_tokens, worker.decode_blocks, worker.kv_blocks) == (None, 5.0, None)
    one.describe_workers(BLOCK, 1024.0)
    (worker,) = one.read(1.0).workers or ()
    assert (worker.prefill_tokens, worker.kv_blocks) == (160.0, 1024.0)


def test_what_was_lost_is_added_up_for_ever(frontend: Frontend) -> None:
    one = source(frontend)
    for time in range(20):
        frontend.decided, frontend.finished = decisions(dropped=2), requests(lagged=1)
        one.read(float(time))
    assert one.lost == 60


def test_a_worker_that_was_not_chosen_for_a_minute_is_forgotten(frontend: Frontend) -> None:
    one = source(frontend)
    frontend.decided = decisions({"worker_id": 1})
    one.read(0.0)
    assert one.read(60.0).workers is not None
    assert one.read(60.1).workers is None


@given(st.lists(st.tuples(st.floats(allow_nan=True), st.integers(0, 3)), max_size=12))
def test_jumping_clocks_never_raise_and_never_make_a_rate_negative(
    reads: list[tuple[float, int]],
) -> None:
    frontend = Frontend()
    one = source(frontend, minimum_count=1)
    for time, count in reads:
        frontend.decided = decisions(*({"request_blocks": math.nan} for _ in range(count)))
        frontend.finished = requests(*({"ttft_seconds": 1.0} for _ in range(count)))
        reading = one.read(time)
        assert reading.decision_rate is None or reading.decision_rate >= 0
        assert not reading.window < 0


def test_a_worker_whose_last_request_finished_has_no_load(frontend: Frontend) -> None:
    one = source(frontend)
    frontend.decided = decisions({"worker_id": 1, "prefill_blocks": 99.0, "request_blocks": 8.0})
    one.read(0.0)
    frontend.finished = requests({"decode_worker_id": 1, "input_tokens": 64.0})
    (worker,) = one.read(0.25).workers or ()
    assert (worker.prefill_tokens, worker.decode_blocks, worker.active_requests) == (0, 0, 0)


def test_a_request_that_had_finished_before_the_decision_is_not_taken_off_again(
    frontend: Frontend,
) -> None:
    one = source(frontend)
    frontend.decided = decisions(
        {"worker_id": 1, "active_blocks": 40.0, "active_requests": 1.0, "time_ns": 2_000_000_000}
    )
    frontend.finished = requests(
        {"decode_worker_id": 1, "input_tokens": 128.0, "finished_at": 1.9},
        {"decode_worker_id": 1, "input_tokens": 128.0, "finished_at": 2.1},
    )
    (worker,) = one.read(0.0).workers or ()
    assert (worker.decode_blocks, worker.active_requests) == (32.0, 1.0)


def test_a_request_of_an_unknown_worker_changes_no_load(frontend: Frontend) -> None:
    one = source(frontend)
    frontend.decided = decisions({"worker_id": 1, "active_blocks": 40.0, "active_requests": 1.0})
    one.read(0.0)
    frontend.finished = requests({"input_tokens": 128.0, "output_tokens": 32.0})
    (worker,) = one.read(1.0).workers or ()
    assert (worker.decode_blocks, worker.active_requests) == (40.0, 2.0)


def test_without_the_size_of_a_block_a_backlog_is_unknown_until_it_is_said(
    frontend: Frontend,
) -> None:
    one = InProcess(frontend, 5.0, None)
    frontend.decided = decisions({"worker_id": 1, "prefill_blocks": 3.0})
    (worker,) = one.read(0.0).workers or ()
    assert (worker.prefill_tokens, worker.kv_blocks) == (None, None)
    one.describe_workers(BLOCK, 1024.0)
    (worker,) = one.read(0.25).workers or ()
    assert (worker.prefill_tokens, worker.kv_blocks) == (3.0 * BLOCK, 1024.0)


def test_what_was_lost_adds_up_beyond_the_window(frontend: Frontend) -> None:
    one = source(frontend)
    for second in range(10):
        frontend.decided = decisions(dropped=2)
        frontend.finished = requests(lagged=3)
        one.read(float(second))
    assert one.lost == 50


def test_the_prefill_speed_is_the_highest_of_the_last_minutes(frontend: Frontend) -> None:
    one = source(frontend)
    one.read(0.0)
    speeds = {}
    for time, seconds in ((1.0, 0.5), (10.0, 4.0), (20.0, 2.0), (302.0, 4.0), (330.0, 4.0)):
        frontend.finished = requests({"input_tokens": 400.0, "prefill_seconds": seconds})
        speeds[time] = one.read(time).prefill_tokens_per_second
    assert speeds == {1.0: 800.0, 10.0: 800.0, 20.0: 800.0, 302.0: 200.0, 330.0: 100.0}
