"""Measurements for ``dynamo-regime calibrate``: one mocker worker at a ladder of concurrencies.

Dynamo's stock frontend and one simulated worker, on loopback; both end with this program. For a
worker of your own, write the same two columns with your own load generator.
"""

import asyncio
import csv
import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from examples.show import check_writable, console, plain_endings
from testbed import load, prompts
from testbed.cluster import Cluster
from testbed.commands import FrontendCommand
from testbed.outcome import Outcome
from testbed.prompts import Phase, PromptMix
from testbed.topology import Topology, WorkerModel


class Latency(StrEnum):
    """Which latency is written."""

    TTFT = "ttft"
    ITL = "itl"


def main(
    file: Annotated[Path, typer.Argument(help="Where the CSV goes.")],
    latency: Annotated[Latency, typer.Option(help="Which latency.")] = Latency.ITL,
    levels: Annotated[
        str, typer.Option(help="Requests at once, with commas.")
    ] = "1,2,4,8,12,16,24,32,48,64",
    requests: Annotated[
        int, typer.Option(min=1, help="Requests a level, times its concurrency.")
    ] = 4,
    speedup: Annotated[float, typer.Option(help="Of the mocker, against a real GPU.")] = 1.0,
) -> None:
    """Ask one worker with more and more requests at once and write a line a request."""
    check_writable(file)
    try:
        concurrencies = [int(level) for level in levels.split(",")]
    except ValueError:
        raise typer.BadParameter(f"--levels is {levels!r}: write numbers with commas") from None
    # No prompt is cached, and the cache is never the bottleneck: what is measured is the load.
    mix = PromptMix(templates=1, prefix_tokens=0, tail_tokens=256, answer_tokens=64)
    worker = WorkerModel(speedup=speedup, block_size=64, cache_blocks=16384)
    phases = [Phase(str(level), level, requests * level) for level in concurrencies]
    outcomes: list[Outcome] = []
    with plain_endings(), Cluster(Topology.parse("1"), worker) as cluster:
        frontend = cluster.start(FrontendCommand.stock("round-robin"))
        cluster.worker_ids(frontend)
        for number, phase in enumerate(phases):
            console.print(f"{phase.concurrency} at once: {phase.requests} requests")
            batch = prompts.requests([phase], mix, seed=number)
            asyncio.run(load.run(frontend.url, batch, outcomes.append))
    rows = [
        (outcome.phase, seconds)
        for outcome in outcomes
        if (seconds := _seconds(outcome, latency)) is not None
    ]
    partial = file.with_name(f".{file.name}.{os.getpid()}")
    with partial.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(("concurrency", "latency_seconds"))
        writer.writerows(rows)
    partial.replace(file)
    failed = sum(outcome.failure is not None for outcome in outcomes)
    console.print(f"{len(rows)} measurements in {file}; {failed} requests failed.")


def _seconds(outcome: Outcome, latency: Latency) -> float | None:
    if outcome.failure is not None:
        return None
    if latency is Latency.TTFT:
        return outcome.ttft_seconds
    return sum(outcome.itl_seconds) / len(outcome.itl_seconds) if outcome.itl_seconds else None


if __name__ == "__main__":
    typer.run(main)
