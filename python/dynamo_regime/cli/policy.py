"""``dynamo-regime status`` and ``dynamo-regime set``: the admin API for people and scripts."""

import json
import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
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


def _finite_and_not_negative(value: float | None) -> float | None:
    if value is not None and not (math.isfinite(value) and value >= 0):
        raise typer.BadParameter(f"must be finite and not negative, but is {value:g}")
    return value


_Admin = Annotated[
    str,
    typer.Option(
        "--admin",
        envvar=ADDRESS_VARIABLE,
        metavar="URL",
        help=f"The admin listener. Its token, if any, is read from {TOKEN_VARIABLE}.",
    ),
]
_Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
_DEFAULT_ADDRESS = f"http://{DEFAULT_HOST}:{DEFAULT_PORT}"


def status(admin: _Admin = _DEFAULT_ADDRESS, as_json: _Json = False) -> None:
    """Show the present policy of every pool."""
    with _connected(admin) as client:
        policies = client.policies()
    if as_json:
        _print_json({"policies": [asdict(policy) for policy in policies]})
        return
    from dynamo_regime.cli.tables import print_policies

    print_policies(policies)


def set_policy(
    temperature: Annotated[
        float | None,
        typer.Option(
            callback=_finite_and_not_negative,
            help="Softmax temperature τ, finite, ≥ 0; 0 takes the cheapest worker.",
        ),
    ] = None,
    prefill_weight: Annotated[
        float | None,
        typer.Option(
            callback=_finite_and_not_negative,
            help="Weight ω of a prefill block in active blocks, finite, ≥ 0.",
        ),
    ] = None,
    pool: Annotated[
        str | None,
        typer.Option(help="Only this pool: aggregated, prefill, decode or encode.", metavar="ROLE"),
    ] = None,
    instance: Annotated[
        str | None, typer.Option(help="Only this policy instance.", metavar="NAME")
    ] = None,
    admin: _Admin = _DEFAULT_ADDRESS,
    as_json: _Json = False,
) -> None:
    """Swap the policy of every pool, of one, or of one instance, and show old and new values."""
    if temperature is None and prefill_weight is None:
        raise typer.BadParameter("give --temperature, --prefill-weight or both")
    with _connected(admin) as client:
        before = {(policy.pool, policy.instance): policy for policy in client.policies()}
        after = client.set_policy(
            temperature=temperature, prefill_weight=prefill_weight, pool=pool, instance=instance
        )
    changes = [(before.get((new.pool, new.instance)), new) for new in after]
    if as_json:
        _print_json(
            {"changes": [{"old": old and asdict(old), "new": asdict(new)} for old, new in changes]}
        )
        return
    from dynamo_regime.cli.tables import print_changes

    print_changes(changes)


@contextmanager
def _connected(admin: str) -> Iterator["AdminClient"]:
    """A client of the listener; its errors end the command with one sentence and exit code 1."""
    from dynamo_regime.admin.client import AdminClient

    try:
        with AdminClient(admin, token_from_environment()) as client:
            yield client
    except RegimeError as error:
        print(f"dynamo-regime: {error}", file=sys.stderr)
        raise typer.Exit(1) from None


def _print_json(value: object) -> None:
    print(json.dumps(value, indent=2))
