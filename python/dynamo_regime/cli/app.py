"""The commands and their options; each loads what it needs only when it runs."""

from typing import Annotated

import typer

import dynamo_regime
from dynamo_regime.cli.frontend import PassThrough, frontend
from dynamo_regime.cli.policy import set_policy, status

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
app.command("frontend", cls=PassThrough, add_help_option=False)(frontend)


def main() -> None:
    """Run the command line; exits with 1 if refused by the listener, 2 if used wrongly."""
    app(prog_name="dynamo-regime")


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
