"""One workload under several policies."""

from collections.abc import Sequence
from typing import Any

from dynamo_regime.errors import InputError
from dynamo_regime.sim import Cluster, RouterSettings
from dynamo_regime.sim.workload import Workload
from dynamo_regime.study.case import Case, Segment
from dynamo_regime.study.policy import Policy
from dynamo_regime.study.read import over_seeds, rejections
from dynamo_regime.study.report import Bars, Report, Table
from dynamo_regime.study.report.values import percent, with_deviation
from dynamo_regime.study.run_folder import Finished, Study

_OVERALL = "all"


def side_by_side(
    kind: str,
    cluster: Cluster,
    workload: Workload,
    policies: Sequence[Policy],
    *,
    router: RouterSettings | None = None,
    segments: tuple[Segment, ...] = (),
    settings: dict[str, Any],
    seeds: int,
) -> Study:
    """The same requests under every policy.

    Args:
        kind: The command.
        cluster: The workers.
        workload: The requests.
        policies: What is compared, each with a name of its own.
        router: Replicas and lag; its own τ and ω do not count.
        segments: What is looked at alone.
        settings: What the report needs; ``cluster`` and ``workload`` name them.
        seeds: How many.

    Raises:
        InputError: Two policies have one name.
    """
    names = [policy.name for policy in policies]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"the policy {twice!r} is named twice: name each once")
    cases = tuple(
        Case(
            name=f"p{number}",
            labels={"policy": policy.name, "adaptive": "no" if policy.profile is None else "yes"},
            cluster=cluster,
            workload=workload,
            policy=policy,
            router=router or RouterSettings(),
            segments=segments,
        )
        for number, policy in enumerate(policies)
    )
    return Study(kind, cases, seeds, settings)


def side_by_side_report(finished: Finished, title: str) -> Report:
    """Measures of every policy, by segment, and the regret against the best static policy."""
    segments = _segments(finished)
    tables = [_measures(finished, title, None)]
    tables += [
        _measures(finished, f"Segment {name}", number) for number, name in enumerate(segments)
    ]
    tables[0] = Table(
        tables[0].title, tables[0].columns, tables[0].rows, rejections(finished) + tables[0].notes
    )
    if len(finished.results) > 2:
        tables.append(_regret(finished, segments))
    figure = Bars(
        "Mean TTFT, s",
        "s",
        (_OVERALL, *segments),
        tuple(policy_name(finished, case) for case in finished.results),
        tuple(
            tuple(
                over_seeds(finished, case, "ttft_mean_seconds", segment)
                for segment in (None, *range(len(segments)))
            )
            for case in finished.results
        ),
        log_y=True,
    )
    return Report(title, tuple(tables), (figure,))


def policy_name(finished: Finished, case: str) -> str:
    """Of a case."""
    return str(finished.labels[case]["policy"])


def _segments(finished: Finished) -> tuple[str, ...]:
    return next(iter(finished.segments.values()))


def _measures(finished: Finished, title: str, segment: int | None) -> Table:
    columns = ("policy", "requests/s", "TTFT mean, s", "TTFT P99, s", "ITL mean, ms", "ITL P99, ms")
    parts = (
        ("requests_per_second", 1.0),
        ("ttft_mean_seconds", 1.0),
        ("ttft_p99_seconds", 1.0),
        ("itl_mean_seconds", 1e3),
        ("itl_p99_seconds", 1e3),
    )
    rows = tuple(
        (
            policy_name(finished, case),
            *(
                with_deviation(over_seeds(finished, case, measure, segment), scale)
                for measure, scale in parts
            ),
        )
        for case in finished.results
    )
    return Table(title, columns, rows)


def regrets(finished: Finished, segment: int | None) -> dict[str, float]:
    """By case, how far its mean TTFT lies above that of the best static policy, as a share of it.

    Empty if a segment has no requests, or no policy is static.
    """
    means = {}
    for case in finished.results:
        found = over_seeds(finished, case, "ttft_mean_seconds", segment)
        if found is not None:
            means[case] = found.mean
    static = [mean for case, mean in means.items() if finished.labels[case].get("adaptive") == "no"]
    if not static or min(static) <= 0.0:
        return {}
    return {case: mean / min(static) - 1.0 for case, mean in means.items()}


def _regret(finished: Finished, segments: tuple[str, ...]) -> Table:
    columns = ("policy", _OVERALL, *segments)
    by_segment = [regrets(finished, segment) for segment in (None, *range(len(segments)))]
    rows = tuple(
        (
            policy_name(finished, case),
            *(percent(regret.get(case)) for regret in by_segment),
        )
        for case in finished.results
    )
    note = (
        "Mean TTFT above that of the best static policy; of each segment another one may be the"
        " best. Requests count in the segment in which they arrive."
    )
    headroom = headroom_of(finished)
    notes: tuple[str, ...] = (note,)
    if headroom is not None:
        notes += (
            f"The best static policy of every segment, if it could be had there without what came"
            f" before it, is {percent(headroom)} against the best single one: no more can be"
            " expected of switching between them.",
        )
    return Table("Regret", columns, rows, notes)


def headroom_of(finished: Finished) -> float | None:
    """Mean TTFT of the best static policy of each segment, against that of the best single one.

    Returns:
        The change as a share, 0 or less; None without segments or static policies.
    """
    static = [case for case, labels in finished.labels.items() if labels.get("adaptive") == "no"]
    sums: list[list[float]] = []
    for case in static:
        parts = [
            [(part.ttft_mean_seconds or 0.0) * part.requests for part in result.segments]
            for result in finished.results[case]
        ]
        sums.append([sum(column) for column in zip(*parts, strict=True)])
    if not sums or not sums[0]:
        return None
    best_of_each = sum(min(column) for column in zip(*sums, strict=True))
    best_single = min(sum(row) for row in sums)
    return best_of_each / best_single - 1.0 if best_single > 0.0 else None
