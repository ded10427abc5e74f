"""A Dynamo cluster in virtual time, routed by the plug-in itself and watched by the controller.

An example::

    from dynamo_regime.sim import ClosedLoop, Cluster, RouterSettings, Simulation, simulate

    outcome = simulate(Simulation(Cluster.parse("1P/2D"), RouterSettings(), ClosedLoop()))
    outcome.summary.ttft_seconds.p99
"""

from dynamo_regime.sim.cluster import (
    RIVALS,
    Cluster,
    Engine,
    Lifetime,
    Pool,
    Rival,
    RouterSettings,
    Toll,
)
from dynamo_regime.sim.latency import PoleModel
from dynamo_regime.sim.outcome import Distribution, Outcome, PolicyAt, Requests, Summary
from dynamo_regime.sim.simulation import Simulation, simulate
from dynamo_regime.sim.workload import BadLine, ClosedLoop, MultiTurn, Phase, Trace, Workload

__all__ = [
    "RIVALS",
    "BadLine",
    "ClosedLoop",
    "Cluster",
    "Distribution",
    "Engine",
    "Lifetime",
    "MultiTurn",
    "Outcome",
    "Phase",
    "PoleModel",
    "PolicyAt",
    "Pool",
    "Requests",
    "Rival",
    "RouterSettings",
    "Simulation",
    "Summary",
    "Toll",
    "Trace",
    "Workload",
    "simulate",
]
