"""A closed loop over the number of clients."""

from collections.abc import Sequence

from dynamo_regime.sim import Cluster, RouterSettings
from dynamo_regime.sim.workload import ClosedLoop, Phase
from dynamo_regime.study.case import Case
from dynamo_regime.study.policy import Policy
from dynamo_regime.study.read import beside_the_paper, label_values, over_seeds, rejections, where
from dynamo_regime.study.report import Lines, Report, Series, Table
from dynamo_regime.study.report.values import with_deviation
from dynamo_regime.study.run_folder import Finished, Study

CONCURRENCIES = (1, 2, 4, 8, 16, 32, 64, 96, 128, 192, 256, 384, 512)
"""The clients of arXiv 2606.17081."""


def sweep_study(
    cluster_name: str,
    cluster: Cluster,
    policies: Sequence[Policy],
    *,
    concurrencies: Sequence[int] = CONCURRENCIES,
    duration_seconds: float = 60.0,
    seeds: int,
) -> Study:
    """The paper's prompts from so many clients, under every policy."""
    cases = tuple(
        Case(
            name=f"p{number}-c{concurrency}",
            labels={"policy": policy.name, "concurrency": concurrency},
            cluster=cluster,
            workload=ClosedLoop(
                phases=(Phase(concurrency=concurrency, duration_seconds=duration_seconds),)
            ),
            policy=policy,
            router=RouterSettings(),
        )
        for number, policy in enumerate(policies)
        for concurrency in concurrencies
    )
    return Study("sweep", cases, seeds, {"cluster": cluster_name})


def sweep_report(finished: Finished) -> Report:
    """Throughput and latency over the number of clients."""
    columns = ("clients", "policy", "requests/s", "TTFT mean, s", "TTFT P99, s", "ITL P99, ms")
    rows = []
    ours: dict[tuple[str, str], str] = {}
    for concurrency in label_values(finished, "concurrency"):
        for case in where(finished, concurrency=concurrency):
            ttft_p99 = with_deviation(over_seeds(finished, case, "ttft_p99_seconds"))
            itl_p99 = with_deviation(over_seeds(finished, case, "itl_p99_seconds"), 1e3)
            rows.append(
                (
                    str(concurrency),
                    str(finished.labels[case]["policy"]),
                    with_deviation(over_seeds(finished, case, "requests_per_second")),
                    with_deviation(over_seeds(finished, case, "ttft_mean_seconds")),
                    ttft_p99,
                    itl_p99,
                )
            )
            ours.setdefault((str(concurrency), "TTFT P99, s"), ttft_p99)
            ours.setdefault((str(concurrency), "ITL P99, ms"), itl_p99)
    title = f"Sweep of the number of clients, {finished.settings['cluster']}"
    table = Table(title, columns, tuple(rows), rejections(finished))
    figures = tuple(
        Lines(label, "clients", label, _series(finished, measure), log_x=True, log_y=True)
        for label, measure in (
            ("TTFT P99, s", "ttft_p99_seconds"),
            ("ITL P99, s", "itl_p99_seconds"),
            ("requests/s", "requests_per_second"),
        )
    )
    return Report(title, (table, *beside_the_paper(finished, ours)), figures)


def _series(finished: Finished, measure: str) -> tuple[Series, ...]:
    found = []
    for policy in label_values(finished, "policy"):
        cases = where(finished, policy=policy)
        found.append(
            Series(
                str(policy),
                tuple(float(finished.labels[case]["concurrency"]) for case in cases),
                tuple(over_seeds(finished, case, measure) for case in cases),
            )
        )
    return tuple(found)
