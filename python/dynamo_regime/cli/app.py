"""The commands and their options; each loads what it needs only when it runs."""

import sys
from io import TextIOWrapper
from typing import Annotated

import typer

import dynamo_regime
from dynamo_regime.cli.cache_game import cache_game
from dynamo_regime.cli.calibrate import calibrate
from dynamo_regime.cli.compare import compare
from dynamo_regime.cli.events import events
from dynamo_regime.cli.frontend import PassThrough, frontend
from dynamo_regime.cli.grid import grid
from dynamo_regime.cli.plan import plan
from dynamo_regime.cli.poa import poa
from dynamo_regime.cli.policy import set_policy, status
from dynamo_regime.cli.record import record
from dynamo_regime.cli.replay import replay
from dynamo_regime.cli.report import report
from dynamo_regime.cli.simulate import simulate
from dynamo_regime.cli.spike import spike
from dynamo_regime.cli.sweep import sweep
from dynamo_regime.cli.tune import tune
from dynamo_regime.cli.watch import watch

app = typer.Typer(
    help="Watch and re-tune the router of a running Dynamo frontend.",
    no_args_is_help=True,
    add_completion=False,
    # Errors in one plain sentence, not in a box that wraps it.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command("status")(status)
app.command("set")(set_policy)
app.command("watch")(watch)
app.command("events")(events)
app.command("record")(record)
app.command("simulate")(simulate)
app.command("calibrate")(calibrate)
app.command("poa")(poa)
app.command("cache-game")(cache_game)
for study in (replay, sweep, grid, spike, compare, tune, plan, report):
    app.command(study.__name__)(study)
app.command("frontend", cls=PassThrough, add_help_option=False)(frontend)


def main() -> None:
    """Run the command line; exits with 1 if refused by the listener, 2 if used wrongly."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # A terminal without τ must not make a swap that was made look like one that was not.
            stream.reconfigure(errors="replace")
    try:
        app(prog_name="dynamo-regime")
    except OSError as error:
        sys.exit(f"dynamo-regime: the output cannot be written: {error.strerror}")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"dynamo-regime {dynamo_regime.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    pass
