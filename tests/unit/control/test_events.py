import json
import math
import threading

from dynamo_regime.control import (
    Cause,
    Event,
    EventKind,
    EventRing,
    PoolSwap,
    Reading,
    Regime,
    Transition,
    WorkerLoad,
)
from dynamo_regime.control.events import json_line, summarise
from tests.unit.control.detectors.driving import latency

SWAP = PoolSwap("prefill", "R", 0.7, 1.0, 0.0, 1.0, "no prediction")


def event(reason: str = "why") -> Event:
    return Event(EventKind.SWAP, 12.5, reason, swap=SWAP)


def test_the_ring_keeps_the_latest_and_numbers_them_all() -> None:
    ring = EventRing(capacity=3)
    ring.extend(event(str(index)) for index in range(5))
    assert [(each.number, each.event.reason) for each in ring.after()] == [
        (3, "2"),
        (4, "3"),
        (5, "4"),
    ]
    assert [each.number for each in ring.after(4)] == [5]
    assert ring.after(5) == []


def test_threads_that_write_at_once_lose_no_number() -> None:
    ring = EventRing(capacity=10_000)

    def write() -> None:
        for _ in range(500):
            ring.extend([event(), event()])

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [each.number for each in ring.after()] == list(range(1, 4_001))


def test_an_event_is_one_line_of_json_without_what_it_does_not_have() -> None:
    ring = EventRing()
    ring.extend([event("τ rises\nnow")])
    line = json_line(ring.after()[0], unix_offset_seconds=1_000.0)
    assert "\n" not in line
    assert json.loads(line) == {
        "number": 1,
        "unix_time": 1012.5,
        "kind": "swap",
        "time": 12.5,
        "reason": "τ rises\nnow",
        "swap": {
            "pool": "prefill",
            "instance": "R",
            "temperature": 0.7,
            "prefill_weight": 1.0,
            "temperature_before": 0.0,
            "prefill_weight_before": 1.0,
            "prediction": "no prediction",
        },
    }


def test_a_transition_carries_its_readings_and_what_is_not_finite_becomes_null() -> None:
    reading = Reading(time=math.nan, window=0.25, ttft=latency(math.inf))
    transition = Transition(1.0, 1.0, Regime.NORMAL, Regime.TRANSITION, Cause.LOAD, "why", 0.5)
    ring = EventRing()
    ring.extend(
        [
            Event(
                EventKind.TRANSITION,
                1.0,
                "why",
                transition=transition,
                readings=(summarise(reading),),
            )
        ]
    )
    line = json.loads(json_line(ring.after()[0]))
    assert line["transition"]["after"] == "transition"
    assert line["readings"][0]["time"] is None
    assert line["readings"][0]["ttft_p99_seconds"] is None
    assert line["readings"][0]["ttft_count"] == 100


def test_a_summary_holds_no_worker_but_their_mean_and_maximum() -> None:
    workers = tuple(
        WorkerLoad(worker_id=index, dp_rank=0, prefill_tokens=float(index)) for index in range(5)
    )
    summary = summarise(Reading(time=1.0, window=0.25, workers=workers))
    assert (summary.workers, summary.prefill_tokens_mean, summary.prefill_tokens_max) == (5, 2, 4)
    assert summary.decode_blocks_mean is None
