"""``dynamo-regime compare``: two policies or two studies, and whether they differ."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dynamo_regime.cli.connection import print_json
from dynamo_regime.cli.replay import name_of, ramped_trace
from dynamo_regime.cli.simulation_options import cluster_of, workload_of
from dynamo_regime.cli.study_options import (
    AsJson,
    ClusterOption,
    EngineArgs,
    Jobs,
    Lag,
    Output,
    Replicas,
    Seeds,
    one_sentence,
    policies_of,
    run_and_show,
    tables_json,
)
from dynamo_regime.errors import RegimeError

if TYPE_CHECKING:
    from dynamo_regime.study.case import Segment


def compare(
    first: Annotated[
        str, typer.Argument(help="A policy as of `replay`, or the folder of a study.")
    ],
    second: Annotated[str, typer.Argument(help="What is compared with it.")],
    trace: Annotated[
        str, typer.Option(help="The workload of policies, as of `replay`.")
    ] = "conversation",
    cluster: ClusterOption = "8",
    engine_args: EngineArgs = None,
    speed: Annotated[
        float | None, typer.Option(help="Requests of a trace come so many times as fast.")
    ] = None,
    ramp: Annotated[str | None, typer.Option(help="As of `replay`.", metavar="LOW,HIGH")] = None,
    requests: Annotated[
        int | None, typer.Option(min=1, help="Only the first so many requests of a trace.")
    ] = None,
    replicas: Replicas = 1,
    kv_event_lag: Lag = 0.0,
    seeds: Seeds = 8,
    output: Output = None,
    jobs: Jobs = None,
    as_json: AsJson = False,
) -> None:
    """Compare two policies, or two studies of the same cases, by paired runs.

    Every difference has a bootstrap interval and says when it is noise.
    """
    with one_sentence():
        folders = [text for text in (first, second) if Path(text).is_dir()]
        if len(folders) == 2:
            _compare_folders(Path(first), Path(second), as_json)
            return
        if folders:
            raise RegimeError(
                f"{folders[0]} is a folder and the other side is none: name two folders of studies,"
                " or two policies"
            )
        from dynamo_regime.sim import RouterSettings
        from dynamo_regime.study.side_by_side import side_by_side

        if speed is not None and ramp is not None:
            raise RegimeError("--speed and --ramp are both given: leave one out")
        segments: tuple[Segment, ...] = ()
        if ramp is not None:
            workload, segments = ramped_trace(trace, ramp, requests)
        else:
            workload = workload_of(trace, speed=speed, concurrency=None, requests=requests)
        study = side_by_side(
            "compare",
            cluster_of(cluster, engine_args),
            workload,
            policies_of([first, second]),
            router=RouterSettings(replicas=replicas, kv_event_lag_seconds=kv_event_lag),
            segments=segments,
            settings={"cluster": cluster, "workload": name_of(trace, speed, ramp)},
            seeds=seeds,
        )
        run_and_show(study, output, jobs, as_json)


def _compare_folders(first: Path, second: Path, as_json: bool) -> None:
    from dynamo_regime.study.paired import two_studies_report
    from dynamo_regime.study.report.terminal import print_report
    from dynamo_regime.study.run_folder import load_finished

    before, after = load_finished(first), load_finished(second)
    report = two_studies_report(before, after, (str(first), str(second)))
    if as_json:
        print_json(tables_json(report))
    else:
        print_report(report)
