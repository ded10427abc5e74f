"""The best setting at each of a ladder of loads, by successive halving."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

from dynamo_regime.control.profile import Setting
from dynamo_regime.errors import InputError
from dynamo_regime.sim import Cluster, RouterSettings
from dynamo_regime.sim.workload import Trace
from dynamo_regime.study.case import BATCHES, Case
from dynamo_regime.study.policy import DYNAMO_DEFAULT, static_policy
from dynamo_regime.study.result import Result
from dynamo_regime.study.run_folder import Study, open_folder
from dynamo_regime.study.running import Progress, run_pairs
from dynamo_regime.study.statistics import estimate
from dynamo_regime.study.tuning.objective import Objective

SPEEDS = (1.0, 2.0, 4.0, 6.0, 9.0, 12.0)
TEMPERATURES = (0.0, 0.2)
PREFILL_WEIGHTS = (0.0, 0.1, 0.3, 0.6, 1.0, 2.0, 4.0, 10.0, 30.0)
SETTINGS = tuple(
    Setting(temperature=temperature, prefill_weight=weight)
    for temperature, weight in product(TEMPERATURES, PREFILL_WEIGHTS)
)
_WINDOWS = 2
_SEEDS = 2
_TRAINED = 2 / 3
"""Share of the trace that is tuned on; the rest proves the profile."""


@dataclass(frozen=True, slots=True)
class Tried:
    """A setting at a load, and the runs that it got before it was given up."""

    setting: Setting
    results: tuple[Result, ...]


@dataclass(frozen=True, slots=True)
class Rung:
    """A load of the ladder.

    Attributes:
        speed: Of the trace.
        best: The setting that was left.
        load_index: That of the ``load`` detector under that setting; None if it saw none.
        default: Dynamo's default, which is kept to the end as a reference.
        tried: All settings.
    """

    speed: float
    best: Tried
    load_index: float | None
    default: Tried
    tried: tuple[Tried, ...]


def split(trace: Trace) -> tuple[Trace, Trace]:
    """The first two thirds, to tune on, and the rest, to prove the profile on.

    Raises:
        InputError: The trace is too short for it.
    """
    at = int(len(trace) * _TRAINED)
    fewest = 3 * _WINDOWS * BATCHES
    if len(trace) < fewest:
        raise InputError(
            f"the trace has {len(trace)} requests: tuning and its proof need at least {fewest}"
        )
    return trace.slice(0, at), trace.slice(at, len(trace))


def search(
    trace: Trace,
    cluster: Cluster,
    router: RouterSettings,
    objective: Objective,
    folder: Path,
    *,
    speeds: Sequence[float] = SPEEDS,
    settings: Sequence[Setting] = SETTINGS,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> tuple[Rung, ...]:
    """Successive halving at every load (K. Jamieson and A. Talwalkar, AISTATS 2016).

    Every setting gets the first window of the trace; the better half the second one too; and the
    better half of these both windows with another seed. All get the same windows and seeds, so
    that settings are compared in pairs. Dynamo's default gets every run.

    Args:
        trace: To tune on.
        cluster: The workers.
        router: Replicas and lag; its own τ and ω do not count.
        objective: What is best.
        folder: Where the results go; what is there is not run again.
        speeds: The ladder of loads.
        settings: What is tried.
        jobs: Runs at the same time.
        progress: Is told of every finished run, out of those that are sure to come.

    Raises:
        RegimeError: A run failed, or the folder is another study's.
    """
    settings = list(dict.fromkeys((DYNAMO_DEFAULT, *settings)))
    bounds = [len(trace) * number // _WINDOWS for number in range(_WINDOWS + 1)]
    windows = [trace.slice(*bounds[number : number + 2]) for number in range(_WINDOWS)]
    cases = {
        (speed, setting, window): Case(
            name=f"x{speed:g}-t{setting.temperature:g}-w{setting.prefill_weight:g}-part{window}",
            labels={"speed": speed, "window": window},
            cluster=cluster,
            workload=replace(windows[window], speed=speed),
            policy=static_policy(setting.temperature, setting.prefill_weight),
            router=router,
        )
        for speed in speeds
        for setting in settings
        for window in range(_WINDOWS)
    }
    study = Study("tune", tuple(cases.values()), _SEEDS, objective.model_dump(mode="json"))
    open_folder(folder, study)
    results: dict[tuple[float, Setting], list[Result]] = {
        (speed, setting): [] for speed in speeds for setting in settings
    }
    left = dict.fromkeys(speeds, settings)
    for units in ([(0, 0)], [(1, 0)], [(0, 1), (1, 1)]):
        keys = [
            (speed, setting, window, seed)
            for speed in speeds
            for setting in left[speed]
            for window, seed in units
        ]
        found = run_pairs(
            folder,
            [(cases[speed, setting, window], seed) for speed, setting, window, seed in keys],
            jobs=jobs,
            progress=progress,
        )
        for (speed, setting, *_), result in zip(keys, found, strict=True):
            results[speed, setting].append(result)
        left = {
            speed: _better_half(
                left[speed], {each: objective.score(results[speed, each]) for each in left[speed]}
            )
            for speed in speeds
        }
    tried = {
        speed: tuple(Tried(setting, tuple(results[speed, setting])) for setting in settings)
        for speed in speeds
    }
    best = {speed: _best(tried[speed], objective) for speed in speeds}
    metered = [
        (replace(case, name=f"{case.name}-metered", metered=True), 0)
        for speed in speeds
        for case in (cases[speed, best[speed].setting, window] for window in range(_WINDOWS))
    ]
    loads = [each.load_index for each in run_pairs(folder, metered, jobs=jobs, progress=progress)]
    rungs = []
    for number, speed in enumerate(speeds):
        seen = estimate(loads[_WINDOWS * number : _WINDOWS * (number + 1)])
        load = None if seen is None else seen.mean
        # The default comes first.
        rungs.append(Rung(speed, best[speed], load, tried[speed][0], tried[speed]))
    return tuple(rungs)


def _better_half(
    settings: Sequence[Setting], scores: dict[Setting, tuple[float, float]]
) -> list[Setting]:
    ordered = sorted(settings, key=lambda setting: scores[setting])
    return list(dict.fromkeys((DYNAMO_DEFAULT, *ordered[: (len(ordered) + 1) // 2])))


def _best(tried: Sequence[Tried], objective: Objective) -> Tried:
    most = max(len(each.results) for each in tried)
    finalists = [each for each in tried if len(each.results) == most]
    return min(finalists, key=lambda each: objective.score(each.results))
