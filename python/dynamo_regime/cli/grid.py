"""``dynamo-regime grid``: every τ with every ω."""

import dataclasses
from typing import TYPE_CHECKING, Annotated

import typer

from dynamo_regime.cli.simulation_options import cluster_of, trace_of
from dynamo_regime.cli.study_options import (
    AsJson,
    ClusterOption,
    EngineArgs,
    Jobs,
    Lag,
    Output,
    Replicas,
    Seeds,
    numbers_of,
    one_sentence,
    run_and_show,
)
from dynamo_regime.errors import RegimeError

if TYPE_CHECKING:
    from dynamo_regime.sim import Workload


def grid(
    cluster: ClusterOption = "70B-1P2D",
    engine_args: EngineArgs = None,
    concurrency: Annotated[
        str, typer.Option(help="Clients of the paper's closed loop.", metavar="N,N,...")
    ] = "64,128",
    duration: Annotated[float, typer.Option(help="Virtual seconds of each.")] = 60.0,
    trace: Annotated[
        str | None,
        typer.Option(
            help="A trace in place of the closed loop: conversation, multi-turn, or a file."
        ),
    ] = None,
    speeds: Annotated[
        str, typer.Option(help="How many times as fast it comes.", metavar="X,X,...")
    ] = "1,3,9",
    requests: Annotated[
        int | None, typer.Option(min=1, help="Only its first so many requests.")
    ] = None,
    temperatures: Annotated[
        str, typer.Option(help="Values of τ.", metavar="τ,τ,...")
    ] = "0,0.3,0.7,1",
    prefill_weights: Annotated[
        str, typer.Option(help="Values of ω.", metavar="ω,ω,...")
    ] = "0,0.3,0.7,1",
    replicas: Replicas = 1,
    kv_event_lag: Lag = 0.0,
    seeds: Seeds = 3,
    output: Output = None,
    jobs: Jobs = None,
    as_json: AsJson = False,
) -> None:
    """Measure every temperature with every prefill weight, at several loads."""
    with one_sentence():
        from dynamo_regime.sim import RouterSettings
        from dynamo_regime.study.grid import grid_study

        if trace is None:
            loads = _closed_loops(concurrency, duration)
        else:
            loads = _speeds(trace, speeds, requests)
        settings = {
            "--temperatures": numbers_of(temperatures, float, "--temperatures"),
            "--prefill-weights": numbers_of(prefill_weights, float, "--prefill-weights"),
        }
        for option, numbers in settings.items():
            if not all(0.0 <= number < float("inf") for number in numbers):
                raise RegimeError(f"{option} must be finite numbers, 0 or more")
        study = grid_study(
            cluster,
            cluster_of(cluster, engine_args),
            loads,
            temperatures=settings["--temperatures"],
            prefill_weights=settings["--prefill-weights"],
            router=RouterSettings(replicas=replicas, kv_event_lag_seconds=kv_event_lag),
            seeds=seeds,
        )
        run_and_show(study, output, jobs, as_json)


def _closed_loops(concurrency: str, duration: float) -> "list[tuple[str, Workload]]":
    from dynamo_regime.control.checked import validated
    from dynamo_regime.sim import ClosedLoop

    loads: list[tuple[str, Workload]] = []
    for clients in numbers_of(concurrency, int, "--concurrency"):
        phase = {"concurrency": clients, "duration_seconds": duration}
        loads.append(
            (f"{clients} clients", validated(ClosedLoop, {"phases": [phase]}, "the options"))
        )
    return loads


def _speeds(trace: str, speeds: str, requests: int | None) -> "list[tuple[str, Workload]]":
    workload = trace_of(trace, requests)
    return [
        (f"{trace} at {speed:g}x", dataclasses.replace(workload, speed=speed))
        for speed in numbers_of(speeds, float, "--speeds")
    ]
