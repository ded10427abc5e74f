"""``dynamo-regime simulate``: a cluster in virtual time."""

import dataclasses
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dynamo_regime.cli.connection import print_json
from dynamo_regime.cli.simulation_options import cluster_of, workload_of
from dynamo_regime.errors import RegimeError

if TYPE_CHECKING:
    from dynamo_regime.control.controller import Controller
    from dynamo_regime.sim import Cluster, Outcome, Simulation, Workload


def simulate(
    workload: Annotated[
        str,
        typer.Argument(
            help="paper (32/128/32 clients), multi-turn (conversations with popular prefixes),"
            " conversation (Mooncake's trace), the path of a trace (Mooncake's JSON lines, Azure's"
            " or BurstGPT's CSV), or of a YAML or JSON file with `kind: closed`,"
            " `kind: multi_turn` or `kind: arrivals`, and its parameters.",
        ),
    ] = "conversation",
    cluster: Annotated[
        str,
        typer.Option(
            help="8 (workers that prefill and decode), 1P/5D, a system of the paper (340B-1P2D,"
            " 70B-1P2D, 70B-1P5D), or a YAML or JSON file of a cluster."
        ),
    ] = "8",
    engine_args: Annotated[
        str | None,
        typer.Option(
            help="What Dynamo's mocker takes as --extra-engine-args: JSON, or the path of a file.",
            metavar="JSON",
        ),
    ] = None,
    temperature: Annotated[float, typer.Option(help="Softmax temperature τ.")] = 0.0,
    prefill_weight: Annotated[float, typer.Option(help="Weight ω of a prefill block.")] = 1.0,
    controller: Annotated[
        str | None,
        typer.Option(
            help="Let the controller swap by this profile: static, paper, measured, or a file.",
            metavar="PROFILE",
        ),
    ] = None,
    replicas: Annotated[int, typer.Option(help="Routers that share the requests in turn.")] = 1,
    kv_event_lag: Annotated[
        float, typer.Option(help="Seconds that a KV event takes to the routers.")
    ] = 0.0,
    speed: Annotated[
        float | None, typer.Option(help="Requests of a trace come so many times as fast.")
    ] = None,
    concurrency: Annotated[
        int | None, typer.Option(help="Requests of a trace in flight, in place of their times.")
    ] = None,
    requests: Annotated[
        int | None, typer.Option(min=1, help="Only the first so many requests of a trace.")
    ] = None,
    seeds: Annotated[
        int,
        typer.Option(
            min=1,
            help="Run with the seeds 0 to N - 1, by which workers, ties and multi-turn are drawn.",
        ),
    ] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Simulate a cluster in virtual time, routed by the plug-in itself."""
    try:
        router = {
            "temperature": temperature,
            "prefill_weight": prefill_weight,
            "replicas": replicas,
            "kv_event_lag_seconds": kv_event_lag,
        }
        simulation = _simulation(
            cluster_of(cluster, engine_args),
            router,
            workload_of(workload, speed=speed, concurrency=concurrency, requests=requests),
        )
        outcomes = _run(simulation, seeds, controller)
    except RegimeError as error:
        print(f"dynamo-regime: {error}", file=sys.stderr)
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        print("dynamo-regime: the simulation was interrupted", file=sys.stderr)
        raise typer.Exit(130) from None
    if as_json:
        runs = [_json(seed, outcome) for seed, outcome in enumerate(outcomes)]
        print_json({"simulation": simulation.document(), "controller": controller, "runs": runs})
        return
    from dynamo_regime.cli.outcome_table import print_outcomes

    print_outcomes(outcomes)


def _simulation(cluster: "Cluster", router: dict[str, Any], workload: "Workload") -> "Simulation":
    from dynamo_regime.control.checked import validated
    from dynamo_regime.sim import RouterSettings, Simulation

    return Simulation(cluster, validated(RouterSettings, router, "the options"), workload)


def _run(simulation: "Simulation", seeds: int, profile: str | None) -> "list[Outcome]":
    from dynamo_regime.sim import simulate as run

    controllers = [_controller(profile) for _ in range(seeds)]
    outcomes = []
    for seed, controller in enumerate(controllers):
        with _progress(simulation.workload, f"seed {seed}") as progress:
            seeded = dataclasses.replace(simulation, seed=seed)
            outcomes.append(run(seeded, controller=controller, progress=progress))
    return outcomes


def _controller(profile: str | None) -> "Controller | None":
    if profile is None:
        return None
    from dynamo_regime.control import Controller, Mode, find_profile

    return Controller(mode=Mode.ACT, profile=find_profile(profile, Path()))


@contextmanager
def _progress(workload: "Workload", name: str) -> "Iterator[Callable[[int, float], None] | None]":
    """A bar on a terminal: of requests, or of time where they have no end."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from dynamo_regime.sim import ClosedLoop, MultiTurn

    total: float
    if isinstance(workload, ClosedLoop):
        total = sum(phase.duration_seconds for phase in workload.phases)
    elif isinstance(workload, MultiTurn):
        total = workload.sessions * workload.turns
    else:
        total = len(workload)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(name, total=total)

        def show(finished: int, seconds: float) -> None:
            completed = seconds if isinstance(workload, ClosedLoop) else finished
            bar.update(
                task,
                completed=completed,
                description=f"{name}: {finished} requests, {seconds:.0f} s",
            )

        yield show


def _json(seed: int, outcome: "Outcome") -> dict[str, Any]:
    from dynamo_regime.control.events import NumberedEvent, json_line

    return {
        "seed": seed,
        "summary": dataclasses.asdict(outcome.summary),
        "policies": [dataclasses.asdict(at) for at in outcome.policies],
        "events": [
            json.loads(json_line(NumberedEvent(number, event)))
            for number, event in enumerate(outcome.events, 1)
        ],
        "wall_seconds": outcome.wall_seconds,
    }
