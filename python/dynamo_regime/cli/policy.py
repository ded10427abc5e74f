"""``dynamo-regime status`` and ``dynamo-regime set``: the admin API for people and scripts."""

import math
from dataclasses import asdict
from typing import Annotated

import typer

from dynamo_regime.cli.connection import DEFAULT_ADDRESS, Admin, connected, print_json
from dynamo_regime.cli.duration import seconds_of


def _finite_and_not_negative(value: float | None) -> float | None:
    if value is not None and not (math.isfinite(value) and value >= 0):
        raise typer.BadParameter(f"must be finite and not negative, but is {value:g}")
    return value


_Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def status(admin: Admin = DEFAULT_ADDRESS, as_json: _Json = False) -> None:
    """Show the present policy of every pool."""
    with connected(admin) as client:
        policies = client.policies()
    if as_json:
        print_json({"policies": [asdict(policy) for policy in policies]})
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
    keep: Annotated[
        str | None,
        typer.Option(
            "--for",
            help="Keep the controller from changing it for so long: 90s, 10m, 1.5h.",
            metavar="TIME",
        ),
    ] = None,
    admin: Admin = DEFAULT_ADDRESS,
    as_json: _Json = False,
) -> None:
    """Swap the policy of every pool, of one, or of one instance, and show old and new values."""
    if temperature is None and prefill_weight is None:
        raise typer.BadParameter("give --temperature, --prefill-weight or both")
    seconds = None if keep is None else seconds_of(keep)
    with connected(admin) as client:
        before = {(policy.pool, policy.instance): policy for policy in client.policies()}
        if seconds is not None:
            # First, so that the controller does not take the change back at once.
            pools = {pool} if instance is None else {p for p, i in before if i == instance}
            for each in sorted(pools, key=str):
                client.override(seconds, each)
        after = client.set_policy(
            temperature=temperature, prefill_weight=prefill_weight, pool=pool, instance=instance
        )
    changes = [(before.get((new.pool, new.instance)), new) for new in after]
    if as_json:
        print_json(
            {"changes": [{"old": old and asdict(old), "new": asdict(new)} for old, new in changes]}
        )
        return
    from dynamo_regime.cli.tables import print_changes

    print_changes(changes)
