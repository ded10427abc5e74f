"""Dynamo's own frontend beside ours, on the same workers: throughput and time to first token.

Both frontends serve the same eight mocker workers; the load goes to one, then the other, in many
short rounds that take turns. What counts is the median over the rounds of each ratio. Client,
frontends and workers share the machine's cores, so that throughput and latency are noisy all the
same; the processor time that a frontend spends on a request is not, and is what is gated.

Run it as ``python -m benches.live``; ``--json FILE`` also writes the figures to a file. It exits
with 1 when ours spends too much on a request.
"""

import asyncio
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Annotated

import numpy as np
import psutil
import typer
from rich.console import Console
from rich.progress import track

from testbed import load, prompts
from testbed.cluster import Cluster, Frontend, free_port
from testbed.commands import FrontendCommand, router_policy
from testbed.outcome import Outcome
from testbed.prompts import Phase, PromptMix
from testbed.topology import Topology, WorkerModel

TOPOLOGY = Topology.parse("8")
WORKERS = WorkerModel(speedup=20.0, block_size=64, cache_blocks=2048)
MIX = PromptMix(templates=16, prefix_tokens=512, tail_tokens=64, answer_tokens=8)
CONCURRENCY = 16
REQUESTS = 150
ROUNDS = 25
# There is no extra hop; what is left is how each was compiled.
CPU_RATIO_LIMIT = 1.05


@dataclass(frozen=True, slots=True)
class Round:
    """One frontend's answers to one round of load.

    Attributes:
        requests_per_second: Throughput.
        ttft_p50_seconds: Median time to first token.
        ttft_p99_seconds: 99th percentile of it.
        cpu_seconds_per_request: Processor time of the frontend's process by requests.
    """

    requests_per_second: float
    ttft_p50_seconds: float
    ttft_p99_seconds: float
    cpu_seconds_per_request: float


@dataclass(frozen=True, slots=True)
class Report:
    """Medians over the rounds; a ratio is ours by Dynamo's, that of processor time over all rounds.

    Attributes:
        rounds: Rounds that each frontend served.
        requests: Requests that each frontend served in all.
        failures: Requests that failed, of both.
        stock: Dynamo's own frontend.
        regime: Ours.
        throughput_ratio: Ours by Dynamo's, the more the better.
        ttft_p50_ratio: Ours by Dynamo's, the less the better.
        ttft_p99_ratio: Ours by Dynamo's, the less the better.
        cpu_ratio: Processor time on a request, ours by Dynamo's, the less the better.
        cpu_ratio_limit: What that ratio may be at most.
    """

    rounds: int
    requests: int
    failures: int
    stock: Round
    regime: Round
    throughput_ratio: float
    ttft_p50_ratio: float
    ttft_p99_ratio: float
    cpu_ratio: float
    cpu_ratio_limit: float


def measure(frontend: Frontend, seed: int) -> tuple[Round, int]:
    """Send one round of load; what came of it, and how many requests failed."""
    outcomes: list[Outcome] = []
    requests = prompts.requests([Phase("round", CONCURRENCY, REQUESTS)], MIX, seed)

    async def run() -> float:
        clock = asyncio.get_running_loop().time
        began = clock()
        await load.run(frontend.url, requests, outcomes.append)
        return clock() - began

    cpu_before = cpu_seconds(frontend)
    seconds = asyncio.run(run())
    cpu = cpu_seconds(frontend) - cpu_before
    ttft = [one.ttft_seconds for one in outcomes if one.ttft_seconds is not None]
    p50, p99 = np.percentile(ttft, (50, 99))
    failures = sum(one.failure is not None for one in outcomes)
    result = Round((REQUESTS - failures) / seconds, float(p50), float(p99), cpu / REQUESTS)
    return result, failures


def cpu_seconds(frontend: Frontend) -> float:
    """Processor time that the frontend's process has spent so far, user and system."""
    times = psutil.Process(frontend.process.pid).cpu_times()
    return times.user + times.system


def compare(stock: Frontend, regime: Frontend) -> Report:
    """Alternate rounds between both, who begins alternating too."""
    rounds: dict[str, list[Round]] = {stock.url: [], regime.url: []}
    failures = 0
    for number in track(range(ROUNDS + 1), "Alternating rounds", console=Console(stderr=True)):
        both = (stock, regime) if number % 2 else (regime, stock)
        for frontend in both:
            result, failed = measure(frontend, seed=number)
            failures += failed
            if number:  # The first round warms up.
                rounds[frontend.url].append(result)
    ours, theirs = rounds[regime.url], rounds[stock.url]
    return Report(
        rounds=ROUNDS,
        requests=ROUNDS * REQUESTS,
        failures=failures,
        stock=middle(theirs),
        regime=middle(ours),
        throughput_ratio=ratio(ours, theirs, "requests_per_second"),
        ttft_p50_ratio=ratio(ours, theirs, "ttft_p50_seconds"),
        ttft_p99_ratio=ratio(ours, theirs, "ttft_p99_seconds"),
        # Of sums: the kernel counts in ticks of 10 ms, a tenth of a round.
        cpu_ratio=sum(one.cpu_seconds_per_request for one in ours)
        / sum(one.cpu_seconds_per_request for one in theirs),
        cpu_ratio_limit=CPU_RATIO_LIMIT,
    )


def middle(rounds: Sequence[Round]) -> Round:
    """The median of each figure."""
    columns = (asdict(one).values() for one in rounds)
    return Round(*(median(column) for column in zip(*columns, strict=True)))


def ratio(ours: Sequence[Round], theirs: Sequence[Round], figure: str) -> float:
    """The median over the rounds of our figure by theirs."""
    pairs = zip(ours, theirs, strict=True)
    return median(getattr(mine, figure) / getattr(other, figure) for mine, other in pairs)


def main(
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write the figures to this file.")
    ] = None,
) -> None:
    """Compare Dynamo's frontend and ours on the same workers."""
    with Cluster(TOPOLOGY, WORKERS) as cluster:
        policy_file = cluster.folder / "router-policy.yaml"
        policy_file.write_text(router_policy(TOPOLOGY, temperature=0.0, prefill_weight=1.0))
        stock = cluster.start(FrontendCommand.stock("kv"))
        regime = cluster.start(FrontendCommand.regime(policy_file, free_port()))
        report = compare(stock, regime)
    text = json.dumps(asdict(report), indent=2)
    print(text)
    if json_file is not None:
        json_file.write_text(text + "\n")
    if report.failures:
        sys.exit(f"{report.failures} requests failed")
    if report.cpu_ratio > CPU_RATIO_LIMIT:
        sys.exit(f"ours spends more than {CPU_RATIO_LIMIT} times the stock frontend's time")


if __name__ == "__main__":
    typer.run(main)
