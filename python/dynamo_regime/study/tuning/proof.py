"""Whether a tuned profile is better than Dynamo's default, on requests that it has not seen."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dynamo_regime.control.profile import Profile
from dynamo_regime.sim import Cluster, RouterSettings
from dynamo_regime.sim.workload import Trace
from dynamo_regime.study.case import Case
from dynamo_regime.study.paired import compared
from dynamo_regime.study.policy import DYNAMO_DEFAULT, Policy, adaptive_policy, static_policy
from dynamo_regime.study.run_folder import Study, open_folder
from dynamo_regime.study.running import Progress, run_pairs
from dynamo_regime.study.statistics import Change, Verdict
from dynamo_regime.study.tuning.objective import Objective, Score

_SEEDS = 2


@dataclass(frozen=True, slots=True)
class Proof:
    """The tuned profile against Dynamo's default.

    Attributes:
        by_speed: The change of the objective at each load; None where nothing is known.
        overall: Over all loads, each of which counts the same; None alike.
        default_scores: The default's scores, by load.
        tuned_scores: The profile's.
    """

    by_speed: dict[float, Change | None]
    overall: Change | None
    default_scores: dict[float, Score]
    tuned_scores: dict[float, Score]

    @property
    def is_better(self) -> bool:
        """Lower by more than noise over all loads, and no limit missed by more at any of them."""
        misses = all(
            self.tuned_scores[speed][0] <= self.default_scores[speed][0] for speed in self.by_speed
        )
        return misses and self.overall is not None and self.overall.verdict is Verdict.LOWER


def prove(
    profile: Profile,
    held_out: Trace,
    cluster: Cluster,
    router: RouterSettings,
    objective: Objective,
    folder: Path,
    *,
    speeds: Sequence[float],
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Proof:
    """Run both at every load, and compare them batch by batch of the requests.

    Raises:
        RegimeError: A run failed, or the folder is another study's.
    """
    default = static_policy(DYNAMO_DEFAULT.temperature, DYNAMO_DEFAULT.prefill_weight)

    def case(speed: float, name: str, policy: Policy) -> Case:
        workload = replace(held_out, speed=speed)
        labels: dict[str, str | float] = {"speed": speed, "policy": policy.name}
        return Case(f"x{speed:g}-{name}", labels, cluster, workload, policy, router)

    cases = [
        case(speed, name, policy)
        for speed in speeds
        for name, policy in (("default", default), ("tuned", adaptive_policy(profile)))
    ]
    open_folder(folder, Study("proof", tuple(cases), _SEEDS, {}))
    pairs = [(case, seed) for case in cases for seed in range(_SEEDS)]
    results = run_pairs(folder, pairs, jobs=jobs, progress=progress)
    by_speed = {}
    before_all: list[float | None] = []
    after_all: list[float | None] = []
    scores: tuple[dict[float, Score], dict[float, Score]] = ({}, {})
    for number, speed in enumerate(speeds):
        at = 2 * _SEEDS * number
        sides = (results[at : at + _SEEDS], results[at + _SEEDS : at + 2 * _SEEDS])
        before, after = (objective.batches(side) for side in sides)
        change = compared(before, after)
        by_speed[speed] = change
        for kept, side in zip(scores, sides, strict=True):
            kept[speed] = objective.score(side)
        if change is not None:
            before_all.extend(_shares(before, change.before))
            after_all.extend(_shares(after, change.before))
    overall = compared(before_all, after_all) if before_all else None
    return Proof(by_speed, overall, *scores)


def _shares(batches: Sequence[float | None], of: float) -> list[float | None]:
    return [None if batch is None else batch / of for batch in batches]
