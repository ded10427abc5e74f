"""The connection to an admin listener that every command has."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from dynamo_regime.admin.access import (
    ADDRESS_VARIABLE,
    DEFAULT_HOST,
    DEFAULT_PORT,
    TOKEN_VARIABLE,
    token_from_environment,
)
from dynamo_regime.errors import RegimeError

if TYPE_CHECKING:
    from dynamo_regime.admin.client import AdminClient

Admin = Annotated[
    str,
    typer.Option(
        "--admin",
        envvar=ADDRESS_VARIABLE,
        metavar="URL",
        help=f"The admin listener. Its token, if any, is read from {TOKEN_VARIABLE}.",
    ),
]
DEFAULT_ADDRESS = f"http://{DEFAULT_HOST}:{DEFAULT_PORT}"


@contextmanager
def connected(admin: str) -> Iterator["AdminClient"]:
    """A client of the listener; its errors end the command with one sentence and exit code 1."""
    from dynamo_regime.admin.client import AdminClient

    try:
        with AdminClient(admin, token_from_environment()) as client:
            yield client
    except RegimeError as error:
        print(f"dynamo-regime: {error}", file=sys.stderr)
        raise typer.Exit(1) from None


def print_json(value: object) -> None:
    """Print it over several lines."""
    print(json.dumps(value, indent=2))
