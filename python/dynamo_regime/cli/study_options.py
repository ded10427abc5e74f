"""What the commands that run many simulations have in common."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from dynamo_regime.cli.connection import print_json
from dynamo_regime.errors import RegimeError

if TYPE_CHECKING:
    from dynamo_regime.study.policy import Policy
    from dynamo_regime.study.report import Report
    from dynamo_regime.study.run_folder import Finished, Study

REPORT = "report.html"
RUNS = Path("runs")

ClusterOption = Annotated[
    str,
    typer.Option(
        "--cluster",
        help="8 (workers that prefill and decode), 1P/5D, a system of the paper (340B-1P2D,"
        " 70B-1P2D, 70B-1P5D), or a YAML or JSON file of a cluster.",
    ),
]
EngineArgs = Annotated[
    str | None,
    typer.Option(
        help="What Dynamo's mocker takes as --extra-engine-args: JSON, or the path of a file.",
        metavar="JSON",
    ),
]
Policies = Annotated[
    list[str] | None,
    typer.Option(
        "--policy",
        help="τ,ω as in 0,0.3; toll; a rival (lmetric, two-tier, least-loaded, …); a preset"
        " (static, paper, measured) or the file of a profile, which the controller swaps by. May"
        " be given several times.",
        metavar="POLICY",
    ),
]
Replicas = Annotated[int, typer.Option(min=1, help="Routers that share the requests in turn.")]
Lag = Annotated[float, typer.Option(min=0.0, help="Seconds that a KV event takes to the routers.")]
Seeds = Annotated[int, typer.Option(min=1, help="Every run is made with the seeds 0 to N - 1.")]
Output = Annotated[
    Path | None,
    typer.Option(
        help="The folder of the results; what is finished there is not run again."
        " By default runs/<command>-<digest of the configuration>.",
        metavar="FOLDER",
    ),
]
Jobs = Annotated[
    int | None, typer.Option(min=1, help="Runs at the same time; by default one a core.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]

N = TypeVar("N", int, float)


@contextmanager
def one_sentence() -> Iterator[None]:
    """Errors end the command with one sentence and exit code 1; Ctrl-C with 130."""
    try:
        yield
    except RegimeError as error:
        print(f"dynamo-regime: {error}", file=sys.stderr)
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        print(
            "dynamo-regime: interrupted; the same command goes on from what is finished",
            file=sys.stderr,
        )
        raise typer.Exit(130) from None


def policies_of(texts: list[str] | None) -> "list[Policy]":
    """The policies that ``--policy`` names; by default Dynamo's default.

    Raises:
        RegimeError: One of them is none.
    """
    from dynamo_regime.study.policy import parse_policy

    return [parse_policy(text, Path()) for text in texts or ["0,1"]]


def numbers_of(text: str, kind: type[N], option: str) -> tuple[N, ...]:
    """The different numbers of a list such as ``0,0.3,1``, in its order.

    Raises:
        RegimeError: It is no such list.
    """
    try:
        numbers = tuple(dict.fromkeys(kind(part) for part in text.split(",")))
    except ValueError:
        raise RegimeError(f"{option} is {text!r}: write numbers with commas, as 0,1") from None
    return numbers


def run_and_show(study: "Study", output: Path | None, jobs: int | None, as_json: bool) -> None:
    """Run a study, print its tables and write its report.

    Raises:
        RegimeError: It cannot be run.
    """
    from dynamo_regime.study.run_folder import load_finished
    from dynamo_regime.study.running import run_study

    folder = output or RUNS / f"{study.kind}-{study.digest}"
    with progress_bar(study.kind) as progress:
        run_study(study, folder, jobs=jobs, progress=progress)
    show_folder(load_finished(folder), folder, as_json)


def show_folder(finished: "Finished", folder: Path, as_json: bool) -> None:
    """Print the tables of a finished study and write its report into its folder.

    Raises:
        RegimeError: The report cannot be written.
    """
    from dynamo_regime.study.reports import report_of

    report = report_of(finished)
    write_page(report, folder / REPORT)
    if as_json:
        runs = {
            case: {
                "labels": finished.labels[case],
                "segments": finished.segments[case],
                "runs": [result.model_dump(mode="json") for result in results],
            }
            for case, results in finished.results.items()
        }
        print_json({"folder": str(folder), "cases": runs, **tables_json(report)})
        return
    from dynamo_regime.study.report.terminal import print_report

    print_report(report)
    print(f"Plots and tables: {folder / REPORT}")


def write_page(report: "Report", path: Path) -> None:
    """Write a report as HTML.

    Raises:
        RegimeError: It cannot be written.
    """
    from dynamo_regime.study.report.page import html
    from dynamo_regime.study.run_folder import write_whole

    write_whole(path, html(report).encode())


def tables_json(report: "Report") -> dict[str, Any]:
    """The tables as plain JSON."""
    return {"title": report.title, "tables": [table.to_dict() for table in report.tables]}


@contextmanager
def progress_bar(name: str) -> "Iterator[Callable[[int, int], None] | None]":
    """A bar of finished runs, on a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(name, total=None)
        yield lambda finished, total: bar.update(task, completed=finished, total=total)
