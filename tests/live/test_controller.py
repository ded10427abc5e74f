"""The controller in the linked frontend, through a spike of load on mocker workers."""

import time
from itertools import pairwise

import pytest

from testbed.prompts import Phase
from tests.live.controlled import Spike, serving, spike

pytestmark = pytest.mark.live

# What the controller makes of a spike depends on when things happen on a real machine. These are
# measurements: they run by `make test-slow`, on an idle machine, and are no part of the gate.
timed = pytest.mark.slow

# Clients for each worker that prefills: a backlog of 0.1 s, and of some 4 s.
AGGREGATED = (Phase("calm", 2, 40), Phase("spike", 128, 300), Phase("again", 2, 160))
DISAGGREGATED = (Phase("calm", 1, 40), Phase("spike", 32, 90), Phase("again", 1, 60))
UP_AND_DOWN = [
    ("normal", "transition"),
    ("transition", "saturated"),
    ("saturated", "transition"),
    ("transition", "normal"),
]


@pytest.fixture(scope="module")
def acted() -> Spike:
    return spike("act", "4", AGGREGATED)


@pytest.fixture(scope="module")
def acted_on_prefill() -> Spike:
    return spike("act", "1P2D", DISAGGREGATED)


@pytest.fixture(scope="module")
def shadowed() -> Spike:
    return spike("shadow", "4", AGGREGATED)


@pytest.fixture(scope="module")
def kept() -> Spike:
    return spike("act", "4", AGGREGATED, profile="static")


EITHER = pytest.mark.parametrize("which", ["acted", "acted_on_prefill"])


@pytest.fixture
def acting(which: str, request: pytest.FixtureRequest) -> Spike:
    found = request.getfixturevalue(which)
    assert isinstance(found, Spike)
    return found


@EITHER
def test_no_request_fails_while_the_controller_acts(acting: Spike) -> None:
    assert [one.failure for one in acting.outcomes if one.failure] == []
    assert len(acting.outcomes) == sum(phase.requests for phase in acting.phases)


@timed
@EITHER
def test_the_regime_rises_with_the_spike_and_falls_with_its_end_and_at_no_other_time(
    acting: Spike,
) -> None:
    assert acting.steps() == UP_AND_DOWN


@timed
@EITHER
def test_each_step_of_the_load_is_seen_within_two_seconds(acting: Spike) -> None:
    up, _, down, _ = (event["unix_time"] for event in acting.of_kind("transition"))
    assert 0 < up - acting.began < 2
    # The backlog is gone a little before the first request that is sent because of that.
    assert abs(down - acting.ended) < 2


@timed
def test_the_policy_follows_the_profile_in_place(acted: Spike) -> None:
    assert acted.swaps("swap", "aggregated") == [2.0, 1.0, 0.3, 1.0, 2.0]
    assert acted.policies == {"aggregated": (0.0, 2.0, 6)}


@timed
def test_both_pools_of_a_disaggregated_cluster_follow_it(acted_on_prefill: Spike) -> None:
    for pool in ("prefill", "decode"):
        assert acted_on_prefill.swaps("swap", pool) == [2.0, 1.0, 0.3, 1.0, 2.0]
        assert acted_on_prefill.policies[pool] == (0.0, 2.0, 6)


@timed
def test_its_metrics_say_what_it_did(acted: Spike) -> None:
    assert 'dynamo_regime_swaps_total{pool="aggregated"} 5.0' in acted.page
    assert "dynamo_regime_controller_up 1.0" in acted.page
    assert "dynamo_regime_lost_records_total 0.0" in acted.page
    version = 'dynamo_regime_policy_version{instance="aggregated-router",pool="aggregated"} 6.0'
    assert version in acted.page


def test_the_time_of_choices_is_shown(acted: Spike) -> None:
    # 500 requests and those that started the cluster, of which every 64th was timed.
    [line] = [one for one in acted.page if one.startswith("dynamo_regime_selection_seconds_count")]
    assert 500 // 64 <= float(line.split()[1]) <= 520 // 64


@timed
def test_static_sees_the_same_spike_and_keeps_its_policy(kept: Spike, acted: Spike) -> None:
    assert [one.failure for one in kept.outcomes if one.failure] == []
    assert kept.steps() == UP_AND_DOWN
    assert kept.policies == {"aggregated": (0.0, 1.0, 1)}
    for phase in kept.phases:
        p50, p99 = kept.ttft(phase.name)
        ours50, ours99 = acted.ttft(phase.name)
        print(
            f"{phase.name}: TTFT P50 {p50:.2f} s static, {ours50:.2f} s adaptive;"
            f" P99 {p99:.2f} s static, {ours99:.2f} s adaptive"
        )


@timed
def test_the_controller_takes_a_hundredth_of_a_core_at_most(acted: Spike) -> None:
    print(f"the controller's thread used {acted.cpu_share:.2%} of a core")
    assert 0 < acted.cpu_share <= 0.01


@timed
def test_in_shadow_it_sees_the_same_and_changes_nothing(shadowed: Spike) -> None:
    assert [one.failure for one in shadowed.outcomes if one.failure] == []
    assert shadowed.steps() == UP_AND_DOWN
    assert shadowed.of_kind("swap") == []
    assert shadowed.swaps("shadow_swap", "aggregated") == [2.0, 1.0, 0.3, 1.0, 2.0]
    assert shadowed.policies == {"aggregated": (0.0, 1.0, 1)}


def test_events_are_in_the_order_of_their_numbers_and_times(acted: Spike) -> None:
    assert all(a["number"] + 1 == b["number"] for a, b in pairwise(acted.events))
    assert all(a["unix_time"] <= b["unix_time"] for a, b in pairwise(acted.events))


def test_a_policy_that_a_person_set_stays_for_as_long_as_the_override_lives() -> None:
    with serving({"mode": "act"}) as (_, admin):
        admin.override(600.0, "aggregated")
        admin.set_policy(temperature=0.5, prefill_weight=7.0)
        time.sleep(1.5)
        assert [one.prefill_weight for one in admin.policies()] == [7.0]
        admin.release("aggregated")
        time.sleep(1.5)
        assert [one.prefill_weight for one in admin.policies()] == [2.0]
