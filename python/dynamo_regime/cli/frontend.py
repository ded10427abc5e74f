"""``dynamo-regime frontend``: the arguments are the frontend's own, untouched."""

import typer
from typer.core import TyperCommand


class PassThrough(TyperCommand):
    """A command that parses none of its arguments, not even ``--help`` or ``--``."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """Keep the arguments as they are."""
        ctx.args = args
        return []


def frontend(ctx: typer.Context) -> None:
    """Start Dynamo's frontend with the plug-in; takes the flags of python -m dynamo.frontend."""
    from dynamo_regime.frontend import main

    raise typer.Exit(main(ctx.args))
