"""Numbers of a finished study."""

from collections.abc import Sequence

from dynamo_regime.study.published import published
from dynamo_regime.study.report.values import Table
from dynamo_regime.study.result import Result
from dynamo_regime.study.run_folder import Finished
from dynamo_regime.study.statistics import Estimate, estimate


def values(
    results: Sequence[Result], measure: str, segment: int | None = None
) -> list[float | None]:
    """A measure of every run, by its name in ``Measures``; of a segment, or of all requests."""
    parts = [each.overall if segment is None else each.segments[segment] for each in results]
    return [getattr(part, measure) for part in parts]


def over_seeds(
    finished: Finished, case: str, measure: str, segment: int | None = None
) -> Estimate | None:
    """Mean and deviation of a measure over a case's seeds."""
    return estimate(values(finished.results[case], measure, segment))


def where(finished: Finished, **labels: str | float) -> list[str]:
    """The cases with these labels."""
    return [
        name
        for name, found in finished.labels.items()
        if all(found.get(key) == value for key, value in labels.items())
    ]


def label_values(finished: Finished, key: str) -> list[str | float]:
    """The values of a label, in the order in which they first come."""
    return list(dict.fromkeys(labels[key] for labels in finished.labels.values()))


def rejections(finished: Finished) -> tuple[str, ...]:
    """A note if requests were refused by the engines, whose latencies are then not counted."""
    count = sum(result.rejected for results in finished.results.values() for result in results)
    note = f"{count} requests were refused by an engine as too long; they are in no latency."
    return (note,) if count else ()


def beside_the_paper(finished: Finished, ours: dict[tuple[str, str], str]) -> tuple[Table, ...]:
    """The paper's figures beside ours.

    Args:
        finished: The study; its setting ``cluster`` names the system.
        ours: By row and quantity of :class:`Published`, as shown.
    """
    rows = tuple(
        (
            each.row,
            each.quantity,
            each.value,
            ours.get((each.row, each.quantity), "–"),
            each.difference,
        )
        for each in published(finished.kind, str(finished.settings["cluster"]))
    )
    columns = ("", "quantity", "paper", "ours", "why it differs")
    note = (
        "Paper: arXiv 2606.17081, on B200 GPUs with Dynamo 0.9.0. Its PoA-hat is not measured here."
    )
    return (Table("Beside the paper", columns, rows, (note,)),) if rows else ()
