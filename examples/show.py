"""Runs a session in front of somebody: plain words, live table, closing summary, exit code."""

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer
from rich.console import Console
from rich.live import Live

from testbed import report
from testbed.process import ClusterError
from testbed.session import Session
from testbed.summary import PolicyChange

console = Console()

_INTERRUPTED = 130  # as shells have it


def check_writable(json_file: Path | None) -> None:
    """Refuse a file that the summary could not be written to, before anything is started.

    Raises:
        typer.BadParameter: Its folder is not there or not writable.
    """
    if json_file is not None and not os.access(json_file.resolve().parent, os.W_OK):
        raise typer.BadParameter(f"--json: no file can be written to {json_file.resolve().parent}")


def announce(change: PolicyChange, under_way: int) -> None:
    """Say that the policy was swapped, above the live table."""
    console.print(report.swap_line(change, under_way))


def show(session: Session, *, disaggregated: bool, json_file: Path | None) -> None:
    """Run ``session`` and print its summary, also after Ctrl-C.

    Raises:
        typer.Exit: With code 1 if any request failed, 130 after Ctrl-C.
    """
    interrupted = False
    with Live(report.LiveTable(session), console=console, refresh_per_second=2, transient=True):
        try:
            asyncio.run(session.run())
        except KeyboardInterrupt:
            interrupted = True
    if interrupted:
        console.print("Stopped before the end. This is what there was so far:")
    summary = session.summary()
    report.print_summary(console, summary, disaggregated=disaggregated)
    if json_file is not None:
        json_file.write_text(summary.to_json() + "\n", encoding="utf-8")
    if interrupted:
        raise typer.Exit(_INTERRUPTED)
    if summary.failures:
        raise typer.Exit(1)


@contextmanager
def plain_endings() -> Iterator[None]:
    """End without a traceback when the cluster does not come up or Ctrl-C comes early."""
    try:
        yield
    except ClusterError as error:
        console.print(str(error), style="red", markup=False)
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        console.print("Stopped; all processes have ended.")
        raise typer.Exit(_INTERRUPTED) from None
