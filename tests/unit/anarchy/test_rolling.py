"""The price of the last minute, and the page that shows it."""

from typing import Any

import numpy as np
import pytest

from dynamo_regime.anarchy.alarm import PriceAlarm
from dynamo_regime.anarchy.live import LiveAnarchy
from dynamo_regime.anarchy.rolling import RollingPrice
from dynamo_regime.control.events import EventKind, EventRing
from dynamo_regime.control.finished_log import FinishedLog
from tests.unit.control.signals.test_inprocess import requests


def event(
    start: float, seconds: float, worker: int, decoder: int | None = None, first: float = 0.1
) -> dict[str, Any]:
    request = {
        "request_received_ms": start * 1e3,
        "ttft_ms": first * 1e3,
        "total_time_ms": seconds * 1e3,
        "worker": {
            "prefill_worker_id": worker,
            "decode_worker_id": worker if decoder is None else decoder,
        },
        "replay": {"trace_block_size": 64, "input_length": 64, "input_sequence_hashes": [1]},
    }
    return {"event_type": "request_end", "request": request}


def crowded(crowd: float, count: int = 600) -> list[dict[str, Any]]:
    """Ten a second for a minute on two workers, this share of them on the first."""
    rng = np.random.default_rng(0)
    chosen = rng.random(count) > crowd
    loads = np.where(chosen, 1.0 - crowd, crowd)
    return [
        event(0.1 * row, 0.5 + 0.5 * load, int(worker))
        for row, (worker, load) in enumerate(zip(chosen, loads, strict=True))
    ]


def test_crowding_is_seen_and_is_dearer_than_an_even_split() -> None:
    lows = []
    for crowd in (0.5, 0.95):
        rolling = RollingPrice()
        rolling.add(crowded(crowd))
        found = rolling.price(61.0)
        assert list(found) == ["aggregated"]
        assert 1.0 <= found["aggregated"].low.price <= found["aggregated"].high.price
        lows.append(found["aggregated"].low.price)
    assert lows[0] < lows[1]


def test_what_is_older_than_the_window_counts_no_more() -> None:
    rolling = RollingPrice()
    rolling.add(crowded(0.5))
    assert rolling.price(61.0)
    assert rolling.price(117.0) == {}  # Some forty of them ended within the last minute.


def test_where_requests_take_longer_than_the_window_nothing_is_told() -> None:
    rolling = RollingPrice(window_seconds=10.0)
    rolling.add(event(0.01 * row, 20.0, row % 2) for row in range(100))
    assert rolling.price(21.0) == {}


def test_pools_are_judged_apart_and_failures_are_counted() -> None:
    rolling = RollingPrice()
    rolling.add(event(0.1 * row, 1.0, 7, 8 + row % 2) for row in range(300))
    rolling.add([{"event_type": "request_end", "request": {"request_id": "x"}}, {}])
    found = rolling.price(40.0)
    assert list(found) == ["prefill", "decode"]
    assert found["prefill"].high.price == pytest.approx(1.0)  # One worker: no choice.
    assert rolling.incomplete == 2


def test_the_page_has_bounds_parts_and_what_is_missing() -> None:
    log = FinishedLog()
    anarchy = LiveAnarchy(log)
    assert list(anarchy.collect()) == []
    rows = [
        {"received_at": 0.1 * row, "finished_at": 0.1 * row + 1.0, "ttft_seconds": 0.1}
        | {"total_seconds": 1.0, "block_tokens": 64, "input_tokens": 64, "cached_tokens": 0}
        | {"prefill_worker_id": row % 2, "decode_worker_id": row % 2}
        for row in range(300)
    ]
    log.add(requests(*rows, lagged=4))
    anarchy.round(35.0)
    price, excess, unpriced = anarchy.collect()
    assert [sample.labels["bound"] for sample in price.samples] == ["low", "high", "poa_hat"]
    low, high, _ = (sample.value for sample in price.samples)
    assert 1.0 <= low <= high
    assert {sample.labels["part"] for sample in excess.samples} == {
        "queueing",
        "imbalance",
        "cache_loss",
    }
    assert [sample.value for sample in unpriced.samples] == [4]
    anarchy.round(36.0)
    assert len(next(iter(anarchy.collect())).samples) == 3


def test_a_price_that_rises_and_falls_is_told_once_each() -> None:
    alarm = PriceAlarm()
    rounds = [1.0, 1.3, 1.2, 1.3, 1.4, 1.5, 1.2, 1.05, 1.15, 1.05, 1.0, 1.0]
    told = [
        (place, reason) for place, low in enumerate(rounds) for _, reason in alarm.see({"p": low})
    ]
    assert told == [
        (4, "p: the price of anarchy is at least 1.4"),
        (10, "p: the price of anarchy has fallen to 1"),
    ]
    assert alarm.see({}) == []


def test_a_crowded_pool_is_an_event() -> None:
    log, events = FinishedLog(), EventRing()
    anarchy = LiveAnarchy(log, events, clock=lambda: 5.0)
    # Ten a second: half a minute evenly, and then all on one of two workers, where each takes long.
    rows = []
    for row in range(600):
        is_crowded = row >= 200
        rows.append(
            {"received_at": 0.1 * row, "finished_at": 1.0, "ttft_seconds": 0.1}
            | {"total_seconds": 4.0 if is_crowded else 1.0, "block_tokens": 64}
            | {"input_tokens": 64, "cached_tokens": 0}
            | dict.fromkeys(("prefill_worker_id", "decode_worker_id"), 0 if is_crowded else row % 2)
        )
    log.add(requests(*rows))
    anarchy.round(62.0)
    assert events.after() == []
    anarchy.round(63.0)
    [numbered] = events.after()
    assert (numbered.event.kind, numbered.event.time) == (EventKind.PRICE, 5.0)
    assert numbered.event.pool == "aggregated"


def test_a_thread_can_be_started_and_ended() -> None:
    anarchy = LiveAnarchy(FinishedLog())
    anarchy.start()
    anarchy.stop()
    LiveAnarchy(FinishedLog()).stop()
