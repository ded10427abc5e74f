"""The log of finished requests, against a list that keeps everything."""

import json

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dynamo_regime.control import finished_log
from dynamo_regime.control.finished_log import FinishedLog, request_end
from dynamo_regime.target import FinishedRequests
from tests.unit.control.signals.test_inprocess import requests

DRAINS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), max_size=12)


def drain(rows: int, lagged: int = 0) -> FinishedRequests:
    return requests(*({"finished_at": 1.0} for _ in range(rows)), lagged=lagged)


@given(DRAINS, st.integers(1, 12), st.none() | st.integers(0, 60))
def test_a_page_is_what_a_list_of_all_numbers_says(
    drains: list[tuple[int, int]], limit: int, after: int | None
) -> None:
    log, last = FinishedLog(), 0
    kept: list[int] = []
    for rows, lagged in drains:
        log.add(drain(rows, lagged))
        kept += range(last + lagged + 1, last + lagged + rows + 1)
        last += lagged + rows
    page = log.page(limit, after)
    wanted = kept[-limit:] if after is None else [n for n in kept if n > after][:limit]
    assert [number for number, _ in page.requests] == wanted
    assert page.last == last


def test_the_oldest_drains_make_room_and_the_latest_stays_however_large() -> None:
    log = FinishedLog()
    most = finished_log.MOST_REQUESTS
    for _ in range(3):
        log.add(drain(most // 2))
    assert log.page(1, 0).requests[0][0] == most // 2 + 1
    log.add(drain(most + 1))
    first, _ = log.page(1, 0).requests[0]
    assert first == 3 * (most // 2) + 1


def test_hashes_are_bounded_too() -> None:
    log = FinishedLog()
    for _ in range(3):
        one = drain(1)
        one.sequence_hashes[0] = np.zeros(finished_log.MOST_HASHES // 2, np.uint64)
        log.add(one)
    assert [number for number, _ in log.page(10).requests] == [2, 3]


def test_a_request_is_written_as_dynamo_writes_it_and_unknowns_are_left_out() -> None:
    known = requests(
        {
            "received_at": 1_700_000_000.123,
            "finished_at": 1_700_000_001.5,
            "ttft_seconds": 0.25,
            "input_tokens": 100,
            "block_tokens": 64,
            "prefill_worker_id": 2**63,
        }
    )
    known.sequence_hashes[0] = np.array([1, 2**64 - 1], np.uint64)
    event = json.loads(json.dumps(request_end(known, 0)))
    assert event == {
        "schema": "dynamo.request.trace.v1",
        "event_type": "request_end",
        "event_time_unix_ms": 1_700_000_001_500,
        "event_source": "dynamo",
        "request": {
            "request_id": "0",
            "input_tokens": 100,
            "request_received_ms": 1_700_000_000_123,
            "ttft_ms": 250.0,
            "worker": {"prefill_worker_id": 2**63},
            "replay": {
                "trace_block_size": 64,
                "input_length": 100,
                "input_sequence_hashes": [1, 2**64 - 1],
            },
        },
    }
