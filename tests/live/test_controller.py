"""The controller in the linked frontend, through a spike of load on mocker workers."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import httpx
import pytest
import yaml

from dynamo_regime.admin.client import AdminClient, AdminError
from testbed.cluster import Cluster, free_port
from testbed.commands import LOOPBACK, FrontendCommand, router_policy
from testbed.outcome import Outcome
from testbed.prompts import Phase, PromptMix
from testbed.session import Scenario, Session, Swap
from testbed.topology import Topology, WorkerModel

pytestmark = pytest.mark.live

# What the controller makes of a spike depends on when things happen on a real machine. These are
# measurements: they run by `make test-slow`, on an idle machine, and are no part of the gate.
timed = pytest.mark.slow

# So slow that a spike is a backlog of seconds, and no two prompts alike, so that each is computed.
WORKERS = WorkerModel(speedup=0.3, block_size=64, cache_blocks=4096)
MIX = PromptMix(
    templates=400, zipf_exponent=0.0, prefix_tokens=2048, tail_tokens=512, answer_tokens=4
)
CALM, SPIKE, CALM_AGAIN = Phase("calm", 2, 40), Phase("spike", 128, 300), Phase("again", 2, 160)
START = {"temperature": 0.0, "prefill_weight": 1.0}


@contextmanager
def serving(section: dict[str, object]) -> Iterator[tuple[str, AdminClient]]:
    """Four workers behind a frontend with this controller: its URL and its admin listener."""
    topology = Topology.parse("4")
    with Cluster(topology, WORKERS) as cluster:
        file = cluster.folder / "router-policy.yaml"
        file.write_text(
            router_policy(topology, **START) + yaml.safe_dump({"regime_controller": section})
        )
        port = free_port()
        frontend = cluster.start(FrontendCommand.regime(file, port))
        with AdminClient(f"http://{LOOPBACK}:{port}", token=None) as admin:
            _wait_for(admin)
            yield frontend.url, admin


def _wait_for(admin: AdminClient) -> None:
    """The admin listener is there a moment after the OpenAI API."""
    until = time.monotonic() + 30
    while True:
        try:
            admin.controller()
        except AdminError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)
        else:
            return


@dataclass(frozen=True, slots=True)
class Spike:
    """What came of one.

    Attributes:
        outcomes: Of all requests.
        began: When the first request of the spike was sent, since the UNIX epoch.
        ended: Likewise of the calm after it.
        events: All of the controller's.
        policy: In force at the end.
        page: Of metrics.
    """

    outcomes: list[Outcome]
    began: float
    ended: float
    events: list[dict[str, Any]]
    policy: tuple[float, float, int]
    page: str

    def of_kind(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["kind"] == kind]

    def steps(self) -> list[tuple[str, str]]:
        changes = [event["transition"] for event in self.of_kind("transition")]
        return [(change["before"], change["after"]) for change in changes]


def spike(mode: str) -> Spike:
    """Run the three phases; the policy is nobody's but the controller's."""
    times: list[float] = []

    async def note_time(_: Swap) -> int:
        times.append(time.time())
        return 1

    marks = (0, CALM.requests, CALM.requests + SPIKE.requests)
    scenario = Scenario(
        (CALM, SPIKE, CALM_AGAIN), MIX, tuple(Swap(mark, **START) for mark in marks), seed=3
    )
    with serving({"mode": mode, "regime": {"min_dwell_seconds": 2}}) as (url, admin):
        session = Session(url, scenario, note_time)
        asyncio.run(session.run())
        began, ended = times
        events = admin.events(limit=1_000)
        [policy] = admin.policies()
        page = httpx.get(f"{admin.address}/metrics", trust_env=False).text
    in_force = (policy.temperature, policy.prefill_weight, policy.version)
    return Spike(session.outcomes, began, ended, events, in_force, page)


@pytest.fixture(scope="module")
def acted() -> Spike:
    return spike("act")


@pytest.fixture(scope="module")
def shadowed() -> Spike:
    return spike("shadow")


def test_no_request_fails_while_the_controller_acts(acted: Spike) -> None:
    assert [one.failure for one in acted.outcomes if one.failure] == []
    assert len(acted.outcomes) == CALM.requests + SPIKE.requests + CALM_AGAIN.requests


@timed
def test_the_regime_rises_with_the_spike_and_falls_with_its_end_and_at_no_other_time(
    acted: Spike,
) -> None:
    assert acted.steps() == [
        ("normal", "transition"),
        ("transition", "saturated"),
        ("saturated", "transition"),
        ("transition", "normal"),
    ]


@timed
def test_each_step_of_the_load_is_seen_within_two_seconds(acted: Spike) -> None:
    up, _, down, _ = (event["unix_time"] for event in acted.of_kind("transition"))
    assert 0 < up - acted.began < 2
    # The backlog is gone a little before the first request that is sent because of that.
    assert abs(down - acted.ended) < 2


@timed
def test_the_policy_follows_the_profile_in_place(acted: Spike) -> None:
    weights = [event["swap"]["prefill_weight"] for event in acted.of_kind("swap")]
    assert weights == [2.0, 1.0, 0.3, 1.0, 2.0]
    assert acted.policy == (0.0, 2.0, 6)


@timed
def test_its_metrics_say_what_it_did(acted: Spike) -> None:
    lines = acted.page.splitlines()
    assert 'dynamo_regime_swaps_total{pool="aggregated"} 5.0' in lines
    assert "dynamo_regime_controller_up 1.0" in lines
    assert "dynamo_regime_lost_records_total 0.0" in lines
    version = 'dynamo_regime_policy_version{instance="aggregated-router",pool="aggregated"} 6.0'
    assert version in lines


@timed
def test_in_shadow_it_sees_the_same_and_changes_nothing(shadowed: Spike) -> None:
    assert [one.failure for one in shadowed.outcomes if one.failure] == []
    assert shadowed.steps() == [
        ("normal", "transition"),
        ("transition", "saturated"),
        ("saturated", "transition"),
        ("transition", "normal"),
    ]
    assert shadowed.of_kind("swap") == []
    weights = [event["swap"]["prefill_weight"] for event in shadowed.of_kind("shadow_swap")]
    assert weights == [2.0, 1.0, 0.3, 1.0, 2.0]
    assert shadowed.policy == (0.0, 1.0, 1)


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
