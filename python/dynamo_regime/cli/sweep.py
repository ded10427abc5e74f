"""``dynamo-regime sweep``: a closed loop over the number of clients."""

from typing import Annotated

import typer

from dynamo_regime.cli.simulation_options import cluster_of
from dynamo_regime.cli.study_options import (
    AsJson,
    ClusterOption,
    EngineArgs,
    Jobs,
    Output,
    Policies,
    Seeds,
    numbers_of,
    one_sentence,
    policies_of,
    run_and_show,
)
from dynamo_regime.errors import RegimeError


def sweep(
    cluster: ClusterOption = "70B-1P2D",
    engine_args: EngineArgs = None,
    policy: Policies = None,
    concurrency: Annotated[
        str, typer.Option(help="Numbers of clients.", metavar="N,N,...")
    ] = "1,2,4,8,16,32,64,96,128,192,256,384,512",
    duration: Annotated[float, typer.Option(help="Virtual seconds of each.")] = 60.0,
    seeds: Seeds = 3,
    output: Output = None,
    jobs: Jobs = None,
    as_json: AsJson = False,
) -> None:
    """Measure throughput and latency over the number of clients."""
    with one_sentence():
        from dynamo_regime.study.sweep import sweep_study

        clients = numbers_of(concurrency, int, "--concurrency")
        if min(clients) < 1:
            raise RegimeError(f"--concurrency is {concurrency!r}: there must be a client")
        if not duration > 0.0:
            raise RegimeError(f"--duration is {duration:g}: it must be above 0")
        study = sweep_study(
            cluster,
            cluster_of(cluster, engine_args),
            policies_of(policy),
            concurrencies=clients,
            duration_seconds=duration,
            seeds=seeds,
        )
        run_and_show(study, output, jobs, as_json)
