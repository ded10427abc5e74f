"""Three of the frontends that production runs, on the same workers, in a fleet."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import yaml

from dynamo_regime.admin.client import AdminClient, AdminError
from dynamo_regime.admin.controller_wire import FleetView
from testbed.cluster import Cluster, Frontend, free_port
from testbed.commands import LOOPBACK, FrontendCommand, router_policy
from testbed.prompts import Phase, PromptMix
from testbed.session import Scenario, Session, Swap
from testbed.topology import Topology, WorkerModel
from tests.integration.fleet.nats_process import NatsProcess, put

pytestmark = [pytest.mark.integration, pytest.mark.live]

Wait = Callable[[str, Callable[[], bool]], None]

TOPOLOGY = Topology.parse("2")
WORKERS = WorkerModel(speedup=20.0, block_size=64, cache_blocks=2048)
MIX = PromptMix(templates=16, zipf_exponent=0.5, prefix_tokens=256, tail_tokens=64, answer_tokens=4)
SECTION = {"mode": "act", "profile": "measured", "fleet": {}}


@dataclass
class Served:
    frontend: Frontend
    admin: AdminClient

    def fleet(self) -> FleetView | None:
        """Its place; None before the admin listener is there."""
        try:
            return self.admin.controller().fleet
        except AdminError:
            return None

    def decides(self) -> bool:
        fleet = self.fleet()
        return fleet is not None and fleet.is_decider

    def connected(self) -> bool:
        fleet = self.fleet()
        return fleet is not None and fleet.connected

    def follows(self) -> bool:
        fleet = self.fleet()
        return fleet is not None and fleet.version is not None

    def is_set(self, prefill_weight: float) -> bool:
        return {each.prefill_weight for each in self.admin.policies()} == {prefill_weight}

    def failures(self, requests: int) -> list[str]:
        """Of so many requests."""
        swaps = (Swap(0, 0.0, 1.0),)
        scenario = Scenario((Phase("steady", 4, requests),), MIX, swaps, seed=5)
        session = Session(self.frontend.url, scenario, no_swap)
        asyncio.run(session.run())
        assert len(session.outcomes) == requests
        return [str(one.failure) for one in session.outcomes if one.failure]


async def no_swap(_: Swap) -> int:
    raise AssertionError("the policy is the fleet's")


@contextmanager
def served(cluster: Cluster, nats: NatsProcess) -> Iterator[Served]:
    file = cluster.folder / "router-policy.yaml"
    file.write_text(
        router_policy(TOPOLOGY, 0.0, 1.0) + yaml.safe_dump({"regime_controller": SECTION})
    )
    port = free_port()
    command = FrontendCommand.regime(file, port)
    environment = {**command.environment, "NATS_SERVER": nats.url}
    with AdminClient(f"http://{LOOPBACK}:{port}", token=None) as admin:
        yield Served(cluster.start(replace(command, environment=environment)), admin)


def test_a_bucket_with_a_newer_schema_stops_the_start_with_one_sentence(
    nats: NatsProcess, tmp_path: Path
) -> None:
    put(nats.url, "dynamo-regime", "policy", b'{"schema": 2, "moods": {}}')
    file = tmp_path / "router-policy.yaml"
    file.write_text(yaml.safe_dump({"regime_controller": SECTION}))
    ended = subprocess.run(
        [sys.executable, "-m", "dynamo_regime.frontend", "--router-policy-config", str(file)],
        env={**os.environ, "NATS_SERVER": nats.url},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 2
    assert ended.stderr.splitlines()[-1] == (
        "dynamo-regime: key policy of the NATS bucket dynamo-regime has schema 2 and this"
        " dynamo-regime reads up to 1: upgrade this frontend, or name another bucket"
    )
    assert "Traceback" not in ended.stderr


def test_three_frontends_have_one_policy_and_keep_it_when_decider_and_nats_are_killed(
    nats: NatsProcess, wait: Wait
) -> None:
    with ExitStack() as stack:
        cluster = stack.enter_context(Cluster(TOPOLOGY, WORKERS))
        fleet = [stack.enter_context(served(cluster, nats)) for _ in range(3)]
        for one in fleet:
            assert one.failures(requests=40) == []
        wait("all follow", lambda: all(one.follows() for one in fleet))
        wait("all are set", lambda: all(one.is_set(2.0) for one in fleet))
        wait("one decides", lambda: any(one.decides() for one in fleet))

        decider = next(one for one in fleet if one.decides())
        decider.frontend.process.kill()
        rest = [one for one in fleet if one is not decider]
        wait("it is succeeded", lambda: any(one.decides() for one in rest))

        nats.kill()
        wait("all say so", lambda: not any(one.connected() for one in rest))
        for one in rest:
            assert one.failures(requests=40) == []
            assert one.is_set(2.0)
