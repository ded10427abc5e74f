"""Two sides, pair by pair: what differs, and what is noise."""

from collections.abc import Sequence

import numpy as np

from dynamo_regime.errors import InputError
from dynamo_regime.study.read import values
from dynamo_regime.study.report import Report, Table
from dynamo_regime.study.report.values import percent, shown
from dynamo_regime.study.result import Result
from dynamo_regime.study.run_folder import Finished
from dynamo_regime.study.side_by_side import policy_name
from dynamo_regime.study.statistics import FEWEST_PAIRS, Change, Verdict, paired_change

_MEASURES = (
    ("mean TTFT, s", "ttft_mean_seconds"),
    ("TTFT P99, s", "ttft_p99_seconds"),
    ("mean ITL, s", "itl_mean_seconds"),
    ("ITL P99, s", "itl_p99_seconds"),
    ("requests/s", "requests_per_second"),
)
_SENTENCES = {
    Verdict.LOWER: "lower",
    Verdict.HIGHER: "higher",
    Verdict.EQUAL: "equal in every pair",
    Verdict.NOISE: "noise: the interval has 0 in it",
    Verdict.TOO_FEW: f"cannot be told: fewer than {FEWEST_PAIRS} pairs",
}


def over_batches(runs: Sequence[tuple[float | None, ...]]) -> list[float | None]:
    """The mean over runs of each batch; None where a run does not know it."""
    columns = zip(*runs, strict=True)
    return [
        None if any(value is None for value in column) else float(np.mean(np.array(column, float)))
        for column in columns
    ]


def compared(before: Sequence[float | None], after: Sequence[float | None]) -> Change | None:
    """The change over the pairs that are known on both sides; None if there is none."""
    pairs = [
        (first, second)
        for first, second in zip(before, after, strict=True)
        if first is not None and second is not None
    ]
    if not pairs:
        return None
    first, second = np.array(pairs).T
    return paired_change(first, second) if first.mean() > 0.0 else None


def two_policies_report(finished: Finished, title: str) -> Report:
    """The second policy of a study against the first."""
    one, other = finished.results
    names = (policy_name(finished, one), policy_name(finished, other))
    segments = finished.segments[one]
    table = _table(title, names, finished.results[one], finished.results[other], segments)
    return Report(title, (table,))


def two_studies_report(before: Finished, after: Finished, names: tuple[str, str]) -> Report:
    """The second study against the first, case by case.

    Raises:
        InputError: They have no case in common, or differ in the seeds.
    """
    common = [case for case in before.results if case in after.results]
    if not common:
        raise InputError(
            f"{names[0]} and {names[1]} have no case in common: compare like with like"
        )
    tables = []
    for case in common:
        first, second = before.results[case], after.results[case]
        if len(first) != len(second):
            raise InputError(
                f"{names[0]} has {len(first)} seeds and {names[1]} {len(second)}: run both with"
                " the same --seeds"
            )
        labels = ", ".join(f"{key} {value}" for key, value in before.labels[case].items())
        segments = before.segments[case] if before.segments[case] == after.segments[case] else ()
        tables.append(_table(f"{case}: {labels}", names, first, second, segments))
    return Report(f"{names[1]} against {names[0]}", tuple(tables))


def _table(
    title: str,
    names: tuple[str, str],
    before: Sequence[Result],
    after: Sequence[Result],
    segments: tuple[str, ...],
) -> Table:
    rows = []
    if before[0].ttft_batches and len(before[0].ttft_batches) == len(after[0].ttft_batches):
        change = compared(
            over_batches([result.ttft_batches for result in before]),
            over_batches([result.ttft_batches for result in after]),
        )
        rows.append(_row("mean TTFT, s", "all", "requests, in batches", change))
    for number, segment in enumerate(("all", *segments)):
        part = None if number == 0 else number - 1
        for label, measure in _MEASURES:
            columns_of = (values(before, measure, part), values(after, measure, part))
            rows.append(_seeds_row(label, segment, *columns_of))
    columns = ("measure", "of", "pairs of", *names, "change", "95 % interval", "verdict")
    notes = (
        f"Verdicts are of {names[1]} against {names[0]}. Seeds of a trace break ties and draw"
        " workers only: how far other requests of its kind would differ is what the batches tell."
    )
    return Table(title, columns, tuple(rows), (notes,))


def _row(label: str, segment: str, pairs: str, change: Change | None) -> tuple[str, ...]:
    if change is None:
        return (label, segment, pairs, "–", "–", "–", "–", "no request in it")
    interval = "–"
    if change.low is not None and change.high is not None:
        interval = f"{percent(change.low)} to {percent(change.high)}"
    verdict = _SENTENCES[change.verdict]
    return (
        label,
        segment,
        f"{change.pairs} {pairs}",
        shown(change.before, 4),
        shown(change.after, 4),
        percent(change.change),
        interval,
        verdict,
    )


def _seeds_row(
    label: str, segment: str, before: list[float | None], after: list[float | None]
) -> tuple[str, ...]:
    row = _row(label, segment, "seeds", compared(before, after))
    # Then an interval of no width would be that of a single run.
    if len(before) > 1 and len(set(before)) == len(set(after)) == 1 and before != after:
        return (*row[:-2], "–", "the seeds change nothing: one run against one")
    return row
