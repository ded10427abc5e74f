"""A frontend with a controller on slow mocker workers, and a spike of load on it."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import httpx
import numpy as np
import yaml

from dynamo_regime.admin.client import AdminClient, AdminError
from testbed.cluster import Cluster, Frontend, free_port
from testbed.commands import LOOPBACK, FrontendCommand, router_policy
from testbed.outcome import Outcome
from testbed.prompts import Phase, PromptMix
from testbed.session import Scenario, Session, Swap
from testbed.topology import Topology, WorkerModel

# So slow that a spike is a backlog of seconds, and no two prompts alike, so that each is computed:
# 0.15 s of prefill.
WORKERS = WorkerModel(speedup=0.3, block_size=64, cache_blocks=4096)
MIX = PromptMix(
    templates=400, zipf_exponent=0.0, prefix_tokens=2048, tail_tokens=512, answer_tokens=4
)
START = {"temperature": 0.0, "prefill_weight": 1.0}


@contextmanager
def serving(
    section: dict[str, object], topology: str = "4", module: str | None = None
) -> Iterator[tuple[Frontend, AdminClient]]:
    """Workers behind a frontend with this controller, and its admin listener.

    Args:
        section: ``regime_controller``.
        topology: The workers.
        module: What starts the frontend, if it is not the module that people start.
    """
    workers = Topology.parse(topology)
    with Cluster(workers, WORKERS) as cluster:
        file = cluster.folder / "router-policy.yaml"
        file.write_text(
            router_policy(workers, **START) + yaml.safe_dump({"regime_controller": section})
        )
        port = free_port()
        command = FrontendCommand.regime(file, port)
        frontend = cluster.start(replace(command, module=module) if module else command)
        with AdminClient(f"http://{LOOPBACK}:{port}", token=None) as admin:
            _wait_for(admin)
            yield frontend, admin


def page(admin: AdminClient) -> list[str]:
    """The lines of the page of metrics."""
    return httpx.get(f"{admin.address}/metrics", trust_env=False).text.splitlines()


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
        phases: Of the load: calm, spike, calm.
        outcomes: Of all requests.
        began: When the first request of the spike was sent, since the UNIX epoch.
        ended: Likewise of the calm after it.
        events: All of the controller's.
        policies: In force at the end: τ, ω and version by pool.
        page: Of metrics.
        cpu_share: Of one core, used by the controller's thread meanwhile.
    """

    phases: tuple[Phase, Phase, Phase]
    outcomes: list[Outcome]
    began: float
    ended: float
    events: list[dict[str, Any]]
    policies: dict[str, tuple[float, float, int]]
    page: list[str]
    cpu_share: float

    def ttft(self, phase: str) -> tuple[float, float]:
        """Median and 99th percentile of a phase, in seconds."""
        seconds = [one.ttft_seconds for one in self.outcomes if one.phase == phase]
        p50, p99 = np.quantile([each for each in seconds if each is not None], [0.5, 0.99])
        return float(p50), float(p99)

    def of_kind(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["kind"] == kind]

    def steps(self) -> list[tuple[str, str]]:
        changes = [event["transition"] for event in self.of_kind("transition")]
        return [(change["before"], change["after"]) for change in changes]

    def swaps(self, kind: str, pool: str) -> list[float]:
        """The weights that a pool was, or would have been, swapped to."""
        swaps = [event["swap"] for event in self.of_kind(kind)]
        return [swap["prefill_weight"] for swap in swaps if swap["pool"] == pool]


def spike(
    mode: str, topology: str, phases: tuple[Phase, Phase, Phase], profile: str = "measured"
) -> Spike:
    """Run the three phases; the policy is nobody's but the controller's."""
    times: list[float] = []

    async def note_time(_: Swap) -> int:
        times.append(time.time())
        return 1

    calm, peak, _ = phases
    marks = (0, calm.requests, calm.requests + peak.requests)
    scenario = Scenario(phases, MIX, tuple(Swap(mark, **START) for mark in marks), seed=3)
    section: dict[str, object] = {
        "mode": mode,
        "profile": profile,
        "regime": {"min_dwell_seconds": 2},
    }
    with serving(section, topology) as (frontend, admin):
        session = Session(frontend.url, scenario, note_time)
        cpu_seconds, started = _cpu_seconds(page(admin)), time.monotonic()
        asyncio.run(session.run())
        seconds = time.monotonic() - started
        began, ended = times
        events = admin.events(limit=1_000)
        policies = admin.policies()
        lines = page(admin)
        cpu_share = (_cpu_seconds(lines) - cpu_seconds) / seconds
    in_force = {one.pool: (one.temperature, one.prefill_weight, one.version) for one in policies}
    return Spike(phases, session.outcomes, began, ended, events, in_force, lines, cpu_share)


def _cpu_seconds(lines: list[str]) -> float:
    name = "dynamo_regime_controller_cpu_seconds_total "
    return sum(float(line.removeprefix(name)) for line in lines if line.startswith(name))
