"""A run in virtual time."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dynamo_regime import _core
from dynamo_regime.control.controller import Controller
from dynamo_regime.errors import InputError
from dynamo_regime.sim.cluster import Cluster, RouterSettings
from dynamo_regime.sim.control import SAMPLE_SECONDS, VirtualController
from dynamo_regime.sim.outcome import Outcome, PolicyAt, Requests, Summary
from dynamo_regime.sim.workload import ClosedLoop, Trace, Workload


@dataclass(frozen=True, slots=True)
class Simulation:
    """One run. Equal simulations have equal outcomes, bit for bit.

    Attributes:
        cluster: The workers.
        router: How requests are routed to them.
        workload: The requests.
        seed: Of the router's draws and of a generated workload, 0 to 2**64 - 1.
    """

    cluster: Cluster
    router: RouterSettings
    workload: Workload
    seed: int = 0

    def document(self) -> dict[str, Any]:
        """All of it as plain JSON, but for the columns of a trace."""
        workload = self.workload
        if isinstance(workload, Trace):
            written: dict[str, Any] = {
                "kind": "trace",
                "block_tokens": workload.block_tokens,
                "speed": workload.speed,
                "concurrency": workload.concurrency,
            }
        else:
            kind = "closed" if isinstance(workload, ClosedLoop) else "multi_turn"
            written = {"kind": kind} | workload.model_dump(mode="json")
        return {
            "cluster": self.cluster.model_dump(mode="json"),
            "router": self.router.model_dump(mode="json"),
            "workload": written,
            "seed": self.seed,
        }


def simulate(
    simulation: Simulation,
    *,
    controller: Controller | None = None,
    progress: Callable[[int, float], None] | None = None,
) -> Outcome:
    """Run a cluster in virtual time, on this thread, until its workload is through.

    The engines are aisimulate-core's, the crate under Dynamo's own offline replay; requests are
    routed by the plug-in itself. Ctrl-C stops it; other threads go on meanwhile.

    Args:
        simulation: What to run.
        controller: A fresh one, which sees a reading every 250 ms of virtual time, decides at its
            detector's pace and swaps.
        progress: Is told every 64 requests how many have finished, and the virtual time in seconds.

    Raises:
        InputError: A value of the simulation is out of range; the message names it.
        RegimeError: The engines cannot serve the workload.
    """
    if not 0 <= simulation.seed < 2**64:
        raise InputError(f"the seed is {simulation.seed}: it must be from 0 to 2**64 - 1")
    if controller is not None and simulation.router.rival is not None:
        raise InputError(
            f"the router is {simulation.router.rival}, which has no τ and ω to swap: leave the"
            " controller out"
        )
    from dynamo_regime.sim.lost import losses_of, with_losses

    if losses_of(simulation.cluster):
        if controller is not None:
            raise InputError(
                "a cluster that loses workers is run again for each of them, and a controller would"
                " see requests that are lost: leave the controller out"
            )
        return with_losses(simulation, lambda each: _run(each, None, progress))
    return _run(simulation, controller, progress)


def _run(
    simulation: Simulation,
    controller: Controller | None,
    progress: Callable[[int, float], None] | None,
) -> Outcome:
    workload = simulation.workload
    document = simulation.document()
    for pool in document["cluster"].values():
        for lifetime in pool["lifetimes"] if pool else ():
            del lifetime["lost"]
    document["sample_interval_seconds"] = None if controller is None else SAMPLE_SECONDS
    watcher = _Watcher(None if controller is None else VirtualController(controller), progress)
    values = _core.simulate(
        json.dumps(document),
        workload.columns() if isinstance(workload, Trace) else None,
        None if controller is None and progress is None else watcher,
    )
    return Outcome(
        requests=Requests(**values["requests"]),
        summary=Summary.from_values(values["summary"]),
        policies=tuple(PolicyAt(time, policy) for time, policy in values["policies"]),
        events=() if watcher.controller is None else tuple(watcher.controller.events),
        wall_seconds=values["wall_seconds"],
    )


class _Watcher:
    """What ``_core.simulate`` calls."""

    def __init__(
        self,
        controller: VirtualController | None,
        progress: Callable[[int, float], None] | None,
    ) -> None:
        self.controller = controller
        self._progress = progress

    def sample(self, *sample: Any) -> list[tuple[str, float, float]]:
        return [] if self.controller is None else self.controller.sample(*sample)

    def progress(self, finished: int, time_seconds: float) -> None:
        if self._progress is not None:
            self._progress(finished, time_seconds)
