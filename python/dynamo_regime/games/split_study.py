"""Every split of N workers, by the game and by simulation.

The curves of the game are those of the engines, where they have one; otherwise they are measured in
the simulator, a worker of the one role beside so many of the other that these do not matter.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dynamo_regime.errors import InputError
from dynamo_regime.games.serving import Objectives, WorkerCurve, serving_game
from dynamo_regime.games.split import (
    Split,
    SplitGame,
    integer_equilibrium,
    integer_optimum,
    social_optimum,
    variational_equilibrium,
)
from dynamo_regime.sim import ClosedLoop, Cluster, Engine, Phase, PoleModel, Pool, RouterSettings
from dynamo_regime.study.case import Case, Segment
from dynamo_regime.study.policy import DYNAMO_DEFAULT, Policy
from dynamo_regime.study.read import over_seeds, where
from dynamo_regime.study.run_folder import Finished, Study

_PLENTY = 32
"""Workers of the other role while a curve is measured."""
_WARM_UP = 0.25
"""Share of a run that is not looked at: all clients begin together."""
_OWN_PROMPTS = 1_000_000
"""Templates, so that prompts share nothing: their prefill is what the workers are for."""


@dataclass(frozen=True, slots=True)
class Mix:
    """Lengths of the requests.

    Attributes:
        input_tokens: Of a prompt, none of which is cached.
        output_tokens: Of an answer.
    """

    input_tokens: int
    output_tokens: int

    def __str__(self) -> str:
        """As in tables."""
        return f"{self.input_tokens} in, {self.output_tokens} out"


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be planned.

    Attributes:
        name: Of the cluster, for tables.
        prefill: What a prefill worker runs.
        decode: What a decode worker runs.
        workers: To share.
        in_flight: Requests in flight.
        objectives: What latencies are measured by.
        mixes: Lengths of the requests; the first is the one that is planned for.
        duration_seconds: Virtual seconds of each run.
    """

    name: str
    prefill: Engine
    decode: Engine
    workers: int
    in_flight: int
    objectives: Objectives
    mixes: tuple[Mix, ...]
    duration_seconds: float

    @classmethod
    def of_cluster(cls, cluster: Cluster, workers: int | None, **fields: Any) -> "Plan":
        """With a cluster's engines, and its number of workers unless another is given.

        Raises:
            InputError: The cluster does not tell prefill from decode, or is too small.
        """
        if cluster.prefill is None or cluster.decode is None:
            raise InputError(
                f"{fields['name']} does not tell prefill from decode: name a cluster such as 1P/5D"
            )
        if (total := workers or cluster.workers) < 2:
            raise InputError(f"{total} worker cannot be split: give 2 or more")
        return cls(
            prefill=cluster.prefill.engine, decode=cluster.decode.engine, workers=total, **fields
        )


def split_study(plan: Plan, seeds: int) -> Study:
    """The runs that a plan needs: every split, and the curves that the engines do not have.

    Raises:
        InputError: By the engines' own curves the workers cannot carry the load.
    """
    if plan.prefill.latency is not None and plan.decode.latency is not None:
        serving_game(
            WorkerCurve.of_model(plan.prefill.latency),
            WorkerCurve.of_model(plan.decode.latency),
            plan.objectives,
            workers=plan.workers,
            in_flight=plan.in_flight,
            output_tokens=plan.mixes[0].output_tokens,
        )
    cases = []
    for number, mix in enumerate(plan.mixes):
        for x in range(1, plan.workers):
            cases.append(
                _case(
                    plan,
                    f"m{number}-{x}P{plan.workers - x}D",
                    mix,
                    plan.in_flight,
                    ("split", x),
                    (x, plan.workers - x),
                )
            )
        for requests in _ladder(plan.in_flight):
            if plan.prefill.latency is None:
                labels = ("prefill curve", requests)
                name = f"m{number}-prefill-{requests}"
                cases.append(_case(plan, name, mix, requests, labels, (1, _PLENTY)))
            if plan.decode.latency is None:
                labels = ("decode curve", requests)
                name = f"m{number}-decode-{requests}"
                cases.append(_case(plan, name, mix, requests, labels, (_PLENTY, 1)))
    settings = {
        "cluster": plan.name,
        "workers": plan.workers,
        "in_flight": plan.in_flight,
        "ttft_objective_seconds": plan.objectives.ttft_seconds,
        "itl_objective_seconds": plan.objectives.itl_seconds,
        "mixes": [[mix.input_tokens, mix.output_tokens] for mix in plan.mixes],
        "prefill_latency": _document(plan.prefill.latency),
        "decode_latency": _document(plan.decode.latency),
    }
    return Study("plan", tuple(cases), seeds, settings)


def _ladder(most: int) -> list[int]:
    powers = [2**k for k in range(most.bit_length()) if 2**k < most]
    return [*powers, most] if most > 1 else [1, 2]


def _document(model: PoleModel | None) -> dict[str, Any] | None:
    return None if model is None else model.model_dump(mode="json")


def _case(
    plan: Plan,
    name: str,
    mix: Mix,
    in_flight: int,
    what: tuple[str, int],
    workers: tuple[int, int],
) -> Case:
    duration = plan.duration_seconds
    return Case(
        name=name,
        labels={"mix": str(mix), "what": what[0], "number": what[1]},
        cluster=Cluster(
            prefill=Pool(workers=workers[0], engine=plan.prefill),
            decode=Pool(workers=workers[1], engine=plan.decode),
        ),
        workload=ClosedLoop(
            phases=(Phase(concurrency=in_flight, duration_seconds=duration),),
            templates=_OWN_PROMPTS,
            input_tokens=mix.input_tokens,
            output_tokens=mix.output_tokens,
        ),
        policy=Policy("Dynamo's default", DYNAMO_DEFAULT),
        router=RouterSettings(),
        segments=(Segment("steady", _WARM_UP * duration, duration),),
    )


@dataclass(frozen=True, slots=True)
class SplitRow:
    """One split, by the game and by simulation; means over the seeds, None where nothing finished.

    Attributes:
        prefill_workers: Of N.
        game_ttft_seconds: By the prefill curve.
        game_itl_seconds: By the decode curve.
        game_welfare: U_p + U_d of these.
        ttft_seconds: As simulated.
        itl_seconds: As simulated.
        welfare: U_p + U_d of these.
        requests_per_second: As simulated.
    """

    prefill_workers: int
    game_ttft_seconds: float
    game_itl_seconds: float
    game_welfare: float
    ttft_seconds: float | None
    itl_seconds: float | None
    welfare: float | None
    requests_per_second: float | None


@dataclass(frozen=True, slots=True)
class Planned:
    """What a plan came to, for one mix.

    Attributes:
        mix: The mix.
        equilibrium: The variational equilibrium.
        optimum: The social optimum.
        equilibrium_workers: Prefill workers of the equilibrium in whole workers.
        optimum_workers: Prefill workers of the optimum in whole workers.
        rows: Every split.
    """

    mix: Mix
    equilibrium: Split
    optimum: Split
    equilibrium_workers: int
    optimum_workers: int
    rows: tuple[SplitRow, ...]

    @property
    def simulated_best(self) -> SplitRow:
        """The split with the largest simulated welfare."""
        return max(self.rows, key=_simulated_welfare)

    def row(self, prefill_workers: int) -> SplitRow:
        """The split with so many prefill workers."""
        return self.rows[prefill_workers - 1]


def _simulated_welfare(row: SplitRow) -> float:
    return -math.inf if row.welfare is None else row.welfare


def planned(finished: Finished) -> tuple[Planned, ...]:
    """The game of every mix, beside its simulations.

    Raises:
        InputError: The workers cannot carry the load, or the runs were too short for it.
    """
    settings = finished.settings
    objectives = Objectives(settings["ttft_objective_seconds"], settings["itl_objective_seconds"])
    return tuple(_planned(finished, Mix(*lengths), objectives) for lengths in settings["mixes"])


def _planned(finished: Finished, mix: Mix, objectives: Objectives) -> Planned:
    settings = finished.settings
    workers, in_flight = settings["workers"], settings["in_flight"]
    prefill = _curve(finished, mix, "prefill", "ttft_mean_seconds")
    decode = _curve(finished, mix, "decode", "itl_mean_seconds")
    game = serving_game(
        prefill,
        decode,
        objectives,
        workers=workers,
        in_flight=in_flight,
        output_tokens=mix.output_tokens,
    )
    rows = tuple(
        _row(
            finished,
            mix,
            x,
            objectives,
            game,
            prefill.at(in_flight / x),
            decode.at(in_flight / (workers - x)),
        )
        for x in range(1, workers)
    )
    if all(row.welfare is None for row in rows):
        raise InputError(
            f"with {mix} no split finished a request after the first {_WARM_UP:.0%} of its time:"
            " simulate for longer (--duration)"
        )
    return Planned(
        mix=mix,
        equilibrium=variational_equilibrium(game),
        optimum=social_optimum(game),
        equilibrium_workers=integer_equilibrium(game),
        optimum_workers=integer_optimum(game),
        rows=rows,
    )


def _row(
    finished: Finished,
    mix: Mix,
    x: int,
    objectives: Objectives,
    game: SplitGame,
    game_ttft: float,
    game_itl: float,
) -> SplitRow:
    [case] = where(finished, mix=str(mix), what="split", number=x)
    ttft = _steady(finished, case, "ttft_mean_seconds")
    itl = _steady(finished, case, "itl_mean_seconds")
    welfare = None
    if ttft is not None and itl is not None:
        welfare = objectives.welfare(ttft, itl, mix.output_tokens)
    return SplitRow(
        prefill_workers=x,
        game_ttft_seconds=game_ttft,
        game_itl_seconds=game_itl,
        game_welfare=game.welfare(x),
        ttft_seconds=ttft,
        itl_seconds=itl,
        welfare=welfare,
        requests_per_second=_steady(finished, case, "requests_per_second"),
    )


def _curve(finished: Finished, mix: Mix, role: str, measure: str) -> WorkerCurve:
    model: Mapping[str, Any] | None = finished.settings[f"{role}_latency"]
    if model is not None:
        return WorkerCurve.of_model(PoleModel.model_validate(model))
    cases = where(finished, mix=str(mix), what=f"{role} curve")
    requests = [float(finished.labels[case]["number"]) for case in cases]
    seconds = [_steady(finished, case, measure) for case in cases]
    return WorkerCurve.through(
        requests, [float("nan") if value is None else value for value in seconds]
    )


def _steady(finished: Finished, case: str, measure: str) -> float | None:
    found = over_seeds(finished, case, measure, segment=0)
    return None if found is None else found.mean
