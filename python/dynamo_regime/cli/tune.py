"""``dynamo-regime tune``: from a trace and a cluster to a profile."""

from pathlib import Path
from typing import Annotated, Any

import typer

from dynamo_regime.cli.connection import print_json
from dynamo_regime.cli.simulation_options import cluster_of, trace_of
from dynamo_regime.cli.study_options import (
    REPORT,
    RUNS,
    AsJson,
    ClusterOption,
    EngineArgs,
    Jobs,
    Lag,
    Replicas,
    numbers_of,
    one_sentence,
    progress_bar,
    tables_json,
    write_page,
)


def tune(
    trace: Annotated[
        str, typer.Argument(help="conversation (Mooncake's trace), multi-turn, or a file.")
    ] = "conversation",
    profile: Annotated[
        Path, typer.Option("--profile", help="The profile that is written.", metavar="FILE")
    ] = Path("profile.yaml"),
    cluster: ClusterOption = "8",
    engine_args: EngineArgs = None,
    speeds: Annotated[
        str, typer.Option(help="The ladder of loads: speeds of the trace.", metavar="X,X,...")
    ] = "1,2,4,6,9,12",
    requests: Annotated[
        int | None, typer.Option(min=1, help="Only the first so many requests of the trace.")
    ] = None,
    ttft_limit: Annotated[
        float | None, typer.Option(help="Service-level objective for the TTFT P99, seconds.")
    ] = None,
    itl_limit: Annotated[
        float | None, typer.Option(help="Service-level objective for the ITL P99, seconds.")
    ] = None,
    itl_weight: Annotated[
        float,
        typer.Option(help="The objective is mean TTFT and so many times the mean ITL."),
    ] = 0.0,
    replicas: Replicas = 1,
    kv_event_lag: Lag = 0.0,
    output: Annotated[
        Path | None,
        typer.Option(
            help="The folder of the runs; what is finished there is not run again."
            " By default runs/tune-<digest of the configuration>.",
            metavar="FOLDER",
        ),
    ] = None,
    jobs: Jobs = None,
    as_json: AsJson = False,
) -> None:
    """Find the best τ and ω at each of a ladder of loads, and write them as a profile.

    Two thirds of the trace are tuned on. If the profile does not beat Dynamo's default
    significantly on the rest, the default is kept.
    """
    with one_sentence():
        from dynamo_regime.control.checked import validated
        from dynamo_regime.sim import RouterSettings
        from dynamo_regime.study.tuning.objective import Objective
        from dynamo_regime.study.tuning.tune import Task, tune_profile

        limits: dict[str, Any] = {
            "itl_weight": itl_weight,
            "ttft_p99_limit_seconds": ttft_limit,
            "itl_p99_limit_seconds": itl_limit,
        }
        task = Task(
            name=trace,
            trace=trace_of(trace, requests),
            topology=cluster,
            cluster=cluster_of(cluster, engine_args),
            router=RouterSettings(replicas=replicas, kv_event_lag_seconds=kv_event_lag),
            speeds=tuple(sorted(numbers_of(speeds, float, "--speeds"))),
            objective=validated(Objective, limits, "the options"),
        )
        folder = output or RUNS / f"tune-{task.digest}"
        with progress_bar("tune") as progress:
            report = tune_profile(task, folder, profile, jobs=jobs, progress=progress)
        write_page(report, folder / REPORT)
        if as_json:
            print_json({"folder": str(folder), "profile": str(profile), **tables_json(report)})
            return
        from dynamo_regime.study.report.terminal import print_report

        print_report(report)
        print(f"Profile: {profile}; plots and tables: {folder / REPORT}")
