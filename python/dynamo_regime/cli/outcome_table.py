"""Outcomes of simulations as a table for a terminal."""

from collections.abc import Iterator, Sequence
from statistics import fmean, stdev

from rich.console import Console
from rich.table import Table

from dynamo_regime.sim.outcome import Outcome


def print_outcomes(outcomes: Sequence[Outcome]) -> None:
    """Print what the runs of one simulation with the seeds 0, 1, … came to."""
    table = Table()
    table.add_column("")
    headings = ["mean", "std"] if len(outcomes) > 1 else ["value"]
    for heading in headings:
        table.add_column(heading, justify="right", overflow="fold")
    for name, values in _rows(outcomes):
        known = [value for value in values if value is not None]
        cells = ["-" for _ in headings]
        if len(known) == len(outcomes):
            cells = [f"{fmean(known):.4g}"]
            if len(outcomes) > 1:
                cells.append(f"{stdev(known):.2g}")
        table.add_row(name, *cells)
    console = Console(highlight=False)
    console.print(table)
    for seed, outcome in enumerate(outcomes):
        for event in outcome.events:
            if event.transition is not None:
                before, after = event.transition.before, event.transition.after
                console.print(
                    f"seed {seed}, {event.time:.2f} s: {before} → {after}: {event.reason}"
                )


def _rows(outcomes: Sequence[Outcome]) -> Iterator[tuple[str, list[float | None]]]:
    summaries = [outcome.summary for outcome in outcomes]
    for name, heading in (
        ("completed", "requests completed"),
        ("rejected", "requests rejected"),
        ("retried", "requests sent anew"),
        ("duration_seconds", "duration, s"),
        ("requests_per_second", "requests/s"),
        ("output_tokens_per_second", "output tokens/s"),
        ("cached_fraction", "share of prompts cached"),
    ):
        yield heading, [getattr(summary, name) for summary in summaries]
    for name, heading in (
        ("ttft_seconds", "TTFT"),
        ("itl_seconds", "ITL"),
        ("latency_seconds", "latency"),
    ):
        for part in ("mean", "p50", "p99"):
            label = part if part == "mean" else part.upper()
            yield (
                f"{heading} {label}, s",
                [getattr(getattr(summary, name), part, None) for summary in summaries],
            )
    swaps = [float(sum(at.policy.version > 1 for at in outcome.policies)) for outcome in outcomes]
    yield "swaps", list(swaps)
