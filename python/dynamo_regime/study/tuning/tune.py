"""Tuning as a whole."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from dynamo_regime.control.profile import Workload
from dynamo_regime.control.profile_file import save_profile
from dynamo_regime.errors import InputError
from dynamo_regime.sim import Cluster, RouterSettings
from dynamo_regime.sim.workload import Trace
from dynamo_regime.study.report import Report
from dynamo_regime.study.running import Progress
from dynamo_regime.study.tuning.knots import default_profile, fitted_profile
from dynamo_regime.study.tuning.objective import Objective
from dynamo_regime.study.tuning.proof import prove
from dynamo_regime.study.tuning.report import tuning_report
from dynamo_regime.study.tuning.search import search, split

_SEARCH = "search"
_PROOF = "proof"


@dataclass(frozen=True, slots=True)
class Task:
    """What is tuned.

    Attributes:
        name: Of the trace, for people.
        trace: The requests.
        topology: Of the cluster, for people.
        cluster: The workers.
        router: Replicas and lag; its own τ and ω do not count.
        speeds: The ladder of loads, ascending.
        objective: What is best.
    """

    name: str
    trace: Trace
    topology: str
    cluster: Cluster
    router: RouterSettings
    speeds: tuple[float, ...]
    objective: Objective

    def __post_init__(self) -> None:
        """Check the ladder.

        Raises:
            InputError: It has fewer than two loads, or one that is none.
        """
        if len(self.speeds) < 2 or not 0.0 < self.speeds[0] <= self.speeds[-1] < float("inf"):
            raise InputError("a ladder of loads has two speeds or more, all finite and above 0")

    @property
    def digest(self) -> str:
        """Eight letters that tell it from other tasks."""
        document = [
            self.name,
            self.topology,
            self.cluster.model_dump(mode="json"),
            self.router.model_dump(mode="json"),
            self.speeds,
            self.objective.model_dump(mode="json"),
            len(self.trace),
        ]
        return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()[:8]


def tune_profile(
    task: Task,
    folder: Path,
    path: Path,
    *,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Report:
    """Search, prove, and write the profile, or the default if nothing better was proved.

    Args:
        task: What is tuned.
        folder: Where the runs go; what is there is not run again.
        path: Of the profile.
        jobs: Runs at the same time.
        progress: Is told of every finished run, out of those that are sure to come.

    Raises:
        RegimeError: A run failed, the trace is too short, or something cannot be written.
    """
    train, held_out = split(task.trace)
    rungs = search(
        train,
        task.cluster,
        task.router,
        task.objective,
        folder / _SEARCH,
        speeds=task.speeds,
        jobs=jobs,
        progress=progress,
    )
    workload = Workload(
        description=f"{task.name} at {task.speeds[0]:g} to {task.speeds[-1]:g} times its speed",
        topology=task.topology,
        trace=task.name,
        requests=len(train),
    )
    profile = fitted_profile(rungs, task.cluster, workload)
    proof = prove(
        profile,
        held_out,
        task.cluster,
        task.router,
        task.objective,
        folder / _PROOF,
        speeds=task.speeds,
        jobs=jobs,
        progress=progress,
    )
    chosen = profile if proof.is_better else default_profile(rungs, task.cluster, workload)
    save_profile(chosen, path)
    return tuning_report(rungs, proof, task.objective, f"{task.name}, {task.topology}")
