"""``dynamo-regime replay``: the same requests under several policies."""

from typing import TYPE_CHECKING, Annotated

import typer

from dynamo_regime.cli.simulation_options import cluster_of, trace_of, workload_of
from dynamo_regime.cli.study_options import (
    AsJson,
    ClusterOption,
    EngineArgs,
    Jobs,
    Lag,
    Output,
    Policies,
    Replicas,
    Seeds,
    numbers_of,
    one_sentence,
    policies_of,
    run_and_show,
)
from dynamo_regime.errors import RegimeError

if TYPE_CHECKING:
    from dynamo_regime.sim import Workload
    from dynamo_regime.study.case import Segment


def replay(
    trace: Annotated[
        str,
        typer.Argument(
            help="conversation (Mooncake's trace), multi-turn, paper, or a file, as of `simulate`."
        ),
    ],
    cluster: ClusterOption = "8",
    engine_args: EngineArgs = None,
    policy: Policies = None,
    speed: Annotated[
        float | None, typer.Option(help="Requests of a trace come so many times as fast.")
    ] = None,
    ramp: Annotated[
        str | None,
        typer.Option(
            help="The speed rises from LOW to HIGH and falls back; what happens is shown by"
            " stretches of it. Conversations of multi-turn then wait for no answer.",
            metavar="LOW,HIGH",
        ),
    ] = None,
    requests: Annotated[
        int | None, typer.Option(min=1, help="Only the first so many requests of a trace.")
    ] = None,
    replicas: Replicas = 1,
    kv_event_lag: Lag = 0.0,
    seeds: Seeds = 3,
    output: Output = None,
    jobs: Jobs = None,
    as_json: AsJson = False,
) -> None:
    """Replay a trace under one policy or several; the regret is against the best static one."""
    with one_sentence():
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
            "replay",
            cluster_of(cluster, engine_args),
            workload,
            policies_of(policy),
            router=RouterSettings(replicas=replicas, kv_event_lag_seconds=kv_event_lag),
            segments=segments,
            settings={"cluster": cluster, "workload": name_of(trace, speed, ramp)},
            seeds=seeds,
        )
        run_and_show(study, output, jobs, as_json)


def name_of(trace: str, speed: float | None, ramp: str | None) -> str:
    """The workload in words."""
    if ramp is not None:
        return f"{trace}, speed ramp {ramp}"
    return trace if speed is None else f"{trace} at {speed:g}x"


def ramped_trace(
    trace: str, ramp: str, requests: int | None
) -> "tuple[Workload, tuple[Segment, ...]]":
    """The trace with the ramp that ``--ramp`` describes.

    Raises:
        RegimeError: It describes none, or the workload has no times to change.
    """
    from dynamo_regime.study.ramp import ramped

    speeds = numbers_of(ramp, float, "--ramp")
    if len(speeds) != 2:
        raise RegimeError(f"--ramp is {ramp!r}: write two speeds, as 1,9")
    return ramped(trace_of(trace, requests), *speeds)
