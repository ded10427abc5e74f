"""One reading of several frontends'."""

from dataclasses import replace

import hypothesis.strategies as st
import numpy as np
from hypothesis import given

from dynamo_regime.control.fleet.aggregate import FreshReports, merge
from dynamo_regime.control.fleet.exchange import Slot
from dynamo_regime.control.fleet.records import Report
from dynamo_regime.control.reading import Latency, Quantile, Reading, WorkerLoad

READING = Reading(
    time=1e6,
    window=5.0,
    ttft=Latency(100, Quantile(0.1), Quantile(0.5)),
    workers=(WorkerLoad(1, 0, 100.0, 10.0, 2.0, "prefill", 1024.0),),
    queue_length=3.0,
    decision_rate=10.0,
    overlap_chosen=0.2,
    overlap_best=0.4,
    dropped=1,
)


def merged(*readings: Reading, loads_are_shared: bool = False) -> Reading:
    reading = merge(7.0, readings, loads_are_shared=loads_are_shared)
    assert reading is not None
    return reading


def test_nothing_merged_is_nothing() -> None:
    assert merge(0.0, [], loads_are_shared=False) is None


def test_one_reading_merged_is_itself_at_the_new_time() -> None:
    assert merged(READING) == replace(READING, time=7.0)


def test_counts_rates_queues_and_losses_are_added() -> None:
    reading = merged(READING, READING, READING)
    assert reading.ttft is not None
    assert reading.ttft.count == 300
    assert (reading.decision_rate, reading.queue_length, reading.dropped) == (30.0, 9.0, 3)


def test_shares_are_weighted_by_decisions() -> None:
    busy = replace(READING, decision_rate=30.0, overlap_chosen=0.6)
    assert merged(READING, busy).overlap_chosen == (10 * 0.2 + 30 * 0.6) / 40


def test_a_worker_that_each_frontend_sees_its_share_of_is_added_up() -> None:
    other = replace(READING, workers=(WorkerLoad(1, 0, 50.0, 5.0, None), WorkerLoad(2, 0, 1.0)))
    assert merged(READING, other).workers == (
        WorkerLoad(1, 0, 150.0, 15.0, 2.0, "prefill", 1024.0),
        WorkerLoad(2, 0, 1.0),
    )


def test_a_worker_that_each_frontend_sees_all_of_is_counted_once() -> None:
    other = replace(READING, workers=(WorkerLoad(1, 0, 90.0, 11.0, 2.0, "prefill", 1024.0),))
    assert merged(READING, other, loads_are_shared=True).workers == (
        WorkerLoad(1, 0, 100.0, 11.0, 2.0, "prefill", 1024.0),
    )


def test_what_only_some_know_is_made_of_those_and_what_nobody_knows_is_absent() -> None:
    blind = Reading(0.0, 5.0)
    assert merged(READING, blind).ttft == READING.ttft
    assert merged(READING, blind).overlap_chosen == READING.overlap_chosen
    assert merged(blind, blind) == replace(blind, time=7.0)


def test_shares_without_any_decision_are_plain_means() -> None:
    idle = replace(READING, decision_rate=0.0)
    assert merged(idle, replace(idle, overlap_chosen=0.4)).overlap_chosen == (0.2 + 0.4) / 2


def test_a_quantile_in_the_last_bucket_of_one_member_marks_the_fleets() -> None:
    high = replace(READING, ttft=Latency(100, Quantile(0.1), Quantile(0.4, in_last_bucket=True)))
    ttft = merged(READING, high).ttft
    assert ttft is not None
    assert ttft.p99 == Quantile(0.5, in_last_bucket=True)


SAMPLES = st.lists(st.floats(0, 100), min_size=1, max_size=60)


@given(st.lists(SAMPLES, min_size=1, max_size=5))
def test_the_fleets_p99_is_no_less_than_that_of_all_requests_and_no_more_than_any_members(
    members: list[list[float]],
) -> None:
    def p99(samples: list[float]) -> float:
        return float(np.quantile(samples, 0.99, method="inverted_cdf"))

    readings = [
        Reading(0.0, 5.0, ttft=Latency(len(samples), None, Quantile(p99(samples))))
        for samples in members
    ]
    ttft = merged(*readings).ttft
    assert ttft is not None
    assert ttft.p99 is not None
    assert ttft.p99.value_seconds >= p99([sample for samples in members for sample in samples])
    assert ttft.p99.value_seconds == max(p99(samples) for samples in members)


def slot(revision: int, reading: Reading | None = READING) -> Slot[Report]:
    return Slot(revision, Report(member="m", policy=None, reading=reading))


def test_a_report_counts_for_a_while_after_its_revision_was_first_seen() -> None:
    reports = FreshReports(report_seconds=5.0, loads_are_shared=False)
    reports.observe(100.0, {"m": slot(1)})
    reports.observe(104.0, {"m": slot(1)})
    assert reports.merged(104.9) is not None
    assert reports.merged(105.0) is None
    reports.observe(106.0, {"m": slot(2)})
    assert reports.merged(106.0) is not None


def test_a_member_that_is_gone_or_unreadable_or_without_a_reading_does_not_count() -> None:
    reports = FreshReports(report_seconds=5.0, loads_are_shared=False)
    reports.observe(0.0, {"a": slot(1), "b": slot(2), "c": Slot(3, None), "d": slot(4, None)})
    both = reports.merged(0.0)
    assert both is not None
    assert both.decision_rate == 20.0
    reports.observe(1.0, {"b": slot(2)})
    one = reports.merged(1.0)
    assert one is not None
    assert one.decision_rate == 10.0
