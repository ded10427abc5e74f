"""One cell of a study: a simulation under a policy, and what to look at in it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dynamo_regime.control import PRESETS, Mode
from dynamo_regime.sim import Cluster, RouterSettings, Simulation
from dynamo_regime.sim.workload import ClosedLoop, Workload
from dynamo_regime.study.metered import MeteredController
from dynamo_regime.study.policy import Policy

BATCHES = 20
"""Of the requests of a trace, for differences between policies."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of virtual time, of which the requests that arrive in it are looked at alone.

    Attributes:
        name: For tables.
        from_seconds: Its beginning.
        until_seconds: Its end; infinite is the end of the run.
    """

    name: str
    from_seconds: float
    until_seconds: float = math.inf


@dataclass(frozen=True, slots=True)
class Case:
    """A cell.

    Attributes:
        name: Its own in the study; names its files.
        labels: What it stands for in the study's tables.
        cluster: The workers.
        router: How requests are routed, but for τ and ω, which are the policy's.
        workload: The requests.
        policy: How they are routed.
        segments: What is looked at alone.
        metered: Whether the load index of a static policy is measured, which takes longer.
    """

    name: str
    labels: Mapping[str, str | float]
    cluster: Cluster
    workload: Workload
    policy: Policy
    router: RouterSettings
    segments: tuple[Segment, ...] = ()
    metered: bool = False

    def simulation(self, seed: int) -> Simulation:
        """The run with a seed."""
        setting = self.policy.setting
        router = self.router.model_copy(
            update={
                "temperature": setting.temperature,
                "prefill_weight": setting.prefill_weight,
                "toll": self.policy.toll,
                "rival": self.policy.rival,
            }
        )
        return Simulation(self.cluster, router, self.workload, seed)

    def controller(self) -> MeteredController | None:
        """A fresh one, which only watches if the policy is static; None if none is needed."""
        policy = self.policy
        if policy.profile is None and not self.metered:
            return None
        if policy.profile is None:
            return MeteredController(mode=Mode.SHADOW, profile=PRESETS["static"])
        return MeteredController(mode=Mode.ACT, profile=policy.profile, detector=policy.detector)

    def document(self) -> dict[str, Any]:
        """All of it as plain JSON, but for the columns of a trace."""
        simulation = self.simulation(0).document()
        del simulation["seed"]
        profile, detector = self.policy.profile, self.policy.detector
        return {
            "name": self.name,
            "labels": dict(self.labels),
            "policy": self.policy.name,
            "profile": None if profile is None else profile.model_dump(mode="json"),
            "detector": None if detector is None else detector.model_dump(mode="json"),
            "segments": [
                [each.name, each.from_seconds, _finite(each.until_seconds)]
                for each in self.segments
            ],
            **simulation,
        }


def _finite(seconds: float) -> float | None:
    return seconds if math.isfinite(seconds) else None


def phase_segments(loop: ClosedLoop) -> tuple[Segment, ...]:
    """The phases of a closed loop."""
    segments = []
    begin = 0.0
    for number, phase in enumerate(loop.phases, 1):
        end = begin + phase.duration_seconds
        segments.append(Segment(f"{number}: {phase.concurrency} clients", begin, end))
        begin = end
    return tuple(segments)
