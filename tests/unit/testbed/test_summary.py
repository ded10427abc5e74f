import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.outcome import Outcome
from testbed.summary import Percentiles, PolicyChange, summarise


def outcome(index: int, phase: str = "peak", version: int = 1, **facts: object) -> Outcome:
    """An outcome with the given facts, on worker 1 unless told otherwise."""
    known: dict[str, object] = {"prefill_worker": 1, "decode_worker": 1} | facts
    return Outcome(index, phase, template=0, policy_version=version, **known)  # type: ignore[arg-type]


def test_percentiles_of_known_numbers() -> None:
    percentiles = Percentiles.of(value / 100 for value in range(101))
    assert percentiles.count == 101
    assert (percentiles.p50, percentiles.p90, percentiles.p99) == pytest.approx((0.5, 0.9, 0.99))


def test_percentiles_of_nothing_are_absent_rather_than_zero() -> None:
    assert Percentiles.of([]) == Percentiles(0, None, None, None)


@given(st.lists(st.floats(0.0, 1e3), min_size=1))
def test_percentiles_do_not_depend_on_the_order_and_stay_within_the_sample(
    seconds: list[float],
) -> None:
    percentiles = Percentiles.of(seconds)
    assert percentiles == Percentiles.of(sorted(seconds))
    inner = (percentiles.p50, percentiles.p90, percentiles.p99)
    ordered = [min(seconds), *(value for value in inner if value is not None), max(seconds)]
    assert len(ordered) == 5
    assert ordered == sorted(ordered)


def test_stages_are_phase_and_policy_in_the_order_of_the_load() -> None:
    outcomes = [
        outcome(3, version=2),
        outcome(0, "calm"),
        outcome(2),
        outcome(1, "calm"),
        outcome(4, "calm", 2),
    ]
    stages = summarise(outcomes, [], 1.0).stages
    assert [(stage.phase, stage.policy_version, stage.requests) for stage in stages] == [
        ("calm", 1, 2),
        ("peak", 1, 1),
        ("peak", 2, 1),
        ("calm", 2, 1),
    ]


def test_latencies_are_those_of_the_stage() -> None:
    outcomes = [
        outcome(0, "calm", ttft_seconds=1.0, itl_seconds=(0.1, 0.3)),
        outcome(1, "calm", ttft_seconds=3.0, itl_seconds=(0.2,)),
        outcome(2, "peak", ttft_seconds=9.0),
    ]
    calm, peak = summarise(outcomes, [], 1.0).stages
    assert calm.ttft.p50 == pytest.approx(2.0)
    assert calm.itl.count == 3
    assert calm.itl.p50 == pytest.approx(0.2)
    assert peak.ttft.p50 == pytest.approx(9.0)
    assert peak.itl.p50 is None


def test_cache_overlap_weighs_prompts_by_length_and_leaves_out_answers_that_do_not_report_it() -> (
    None
):
    outcomes = [
        outcome(0, prompt_tokens=100, cached_tokens=100),
        outcome(1, prompt_tokens=300, cached_tokens=0),
        outcome(2, prompt_tokens=1000, cached_tokens=None),
    ]
    [stage] = summarise(outcomes, [], 1.0).stages
    assert stage.cache_overlap == pytest.approx(0.25)
    [silent] = summarise(outcomes[2:], [], 1.0).stages
    assert silent.cache_overlap is None


def test_a_worker_that_does_both_is_counted_once_and_others_by_role() -> None:
    aggregated = [
        outcome(index, prefill_worker=worker, decode_worker=worker)
        for index, worker in enumerate([5, 5, 6])
    ]
    [stage] = summarise(aggregated, [], 1.0).stages
    assert stage.shares == {"aggregated": {5: pytest.approx(2 / 3), 6: pytest.approx(1 / 3)}}
    apart = [
        outcome(index, prefill_worker=1, decode_worker=worker)
        for index, worker in enumerate([5, 6])
    ]
    [stage] = summarise(apart, [], 1.0).stages
    assert stage.shares == {"prefill": {1: 1.0}, "decode": {5: 0.5, 6: 0.5}}


def test_failures_are_counted_by_reason_and_belong_to_no_worker() -> None:
    outcomes = [
        outcome(0),
        outcome(1, failure="HTTP 500", prefill_worker=None, decode_worker=None),
        outcome(2, failure="HTTP 500", prefill_worker=None, decode_worker=None),
    ]
    summary = summarise(outcomes, [], 1.0)
    assert summary.requests == 3
    assert summary.failures == {"HTTP 500": 2}
    [stage] = summary.stages
    assert (stage.requests, stage.failures) == (3, 2)
    assert stage.shares == {"aggregated": {1: 1.0}}


def test_the_json_form_says_the_same() -> None:
    policies = [PolicyChange(0, 1, 0.0, 1.0), PolicyChange(1, 2, 0.7, 0.2, swap_seconds=0.003)]
    outcomes = [outcome(0, ttft_seconds=0.5), outcome(1, version=2, ttft_seconds=1.5)]
    summary = summarise(outcomes, policies, 2.5)
    document = json.loads(summary.to_json())
    assert document["requests"] == 2
    assert document["duration_seconds"] == 2.5
    assert [stage["ttft"]["p50"] for stage in document["stages"]] == [0.5, 1.5]
    assert document["policies"][1] == {
        "before_request": 1,
        "version": 2,
        "temperature": 0.7,
        "prefill_weight": 0.2,
        "swap_seconds": 0.003,
    }


def test_a_summary_of_nothing_can_be_printed_too() -> None:
    assert json.loads(summarise([], [], 0.0).to_json())["requests"] == 0
    assert np.isfinite(summarise([], [], 0.0).duration_seconds)
