"""``dynamo-regime plan``: how many workers should prefill, and how many decode."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dynamo_regime.cli.simulation_options import cluster_of
from dynamo_regime.cli.study_options import (
    RUNS,
    AsJson,
    ClusterOption,
    EngineArgs,
    Jobs,
    Output,
    Seeds,
    one_sentence,
    progress_bar,
    show_folder,
)
from dynamo_regime.errors import RegimeError

if TYPE_CHECKING:
    from dynamo_regime.games.split_study import Mix, Plan


def plan(
    cluster: ClusterOption = "4P/4D",
    engine_args: EngineArgs = None,
    workers: Annotated[
        int | None, typer.Option(help="Workers to share; by default those of the cluster.")
    ] = None,
    clients: Annotated[int, typer.Option(min=1, help="Requests in flight.")] = 64,
    input_tokens: Annotated[
        int, typer.Option(min=1, help="Prompt tokens of a request that are not cached.")
    ] = 4000,
    output_tokens: Annotated[int, typer.Option(min=2, help="Generated tokens of a request.")] = 256,
    ttft: Annotated[float, typer.Option(help="Objective of the TTFT, in s.")] = 0.5,
    itl: Annotated[float, typer.Option(help="Objective of the ITL, in s.")] = 0.02,
    mixes: Annotated[
        bool,
        typer.Option("--mixes", help="Also with prompts and answers half and twice as long."),
    ] = False,
    duration: Annotated[float, typer.Option(help="Virtual seconds of each run.")] = 60.0,
    replicas: Annotated[
        Path | None,
        typer.Option(
            help="Write the best simulated split here, as a DynamoGraphDeployment to apply.",
            metavar="FILE",
        ),
    ] = None,
    deployment: Annotated[str, typer.Option(help="Its name, for --replicas.")] = "my-deployment",
    prefill_component: Annotated[
        str, typer.Option(help="Name of its prefill component.")
    ] = "prefill",
    decode_component: Annotated[str, typer.Option(help="Name of its decode component.")] = "decode",
    seeds: Seeds = 3,
    output: Output = None,
    jobs: Jobs = None,
    as_json: AsJson = False,
) -> None:
    """Split workers between prefill and decode, by the game and by simulating every split."""
    with one_sentence():
        from dynamo_regime.games.serving import Objectives
        from dynamo_regime.games.split_study import Mix, Plan, split_study
        from dynamo_regime.study.run_folder import load_finished
        from dynamo_regime.study.running import run_study

        if not 0.0 < duration < float("inf"):
            raise RegimeError(f"--duration is {duration:g}: it must be above 0")
        chosen = Plan.of_cluster(
            cluster_of(cluster, engine_args),
            workers,
            name=cluster,
            in_flight=clients,
            objectives=Objectives(ttft, itl),
            mixes=_mixes(Mix(input_tokens, output_tokens), others=mixes),
            duration_seconds=duration,
        )
        study = split_study(chosen, seeds)
        folder = output or RUNS / f"{study.kind}-{study.digest}"
        with progress_bar(study.kind) as progress:
            run_study(study, folder, jobs=jobs, progress=progress)
        show_folder(load_finished(folder), folder, as_json)
        if replicas is not None:
            _write_replicas(
                replicas, folder, chosen, (deployment, prefill_component, decode_component)
            )


def _mixes(first: "Mix", *, others: bool) -> "tuple[Mix, ...]":
    from dynamo_regime.games.split_study import Mix

    if not others:
        return (first,)
    tokens_in, tokens_out = first.input_tokens, first.output_tokens
    five = (
        first,
        Mix(max(tokens_in // 2, 1), tokens_out),
        Mix(tokens_in * 2, tokens_out),
        Mix(tokens_in, max(tokens_out // 2, 2)),
        Mix(tokens_in, tokens_out * 2),
    )
    return tuple(dict.fromkeys(five))


def _write_replicas(path: Path, folder: Path, chosen: "Plan", names: tuple[str, str, str]) -> None:
    import yaml

    from dynamo_regime.games.split_report import replicas
    from dynamo_regime.games.split_study import planned
    from dynamo_regime.study.run_folder import load_finished, write_whole

    split = planned(load_finished(folder))[0].simulated_best
    document = replicas(split, chosen.workers, *names)
    write_whole(path, yaml.safe_dump(document, sort_keys=False).encode())
