"""Policies as tables for a terminal."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from dynamo_regime.target import PoolPolicy

_NO_POOL = (
    "No pool is routed by the plug-in: name an instance of type 'regime' "
    "under worker_selection in the router-policy file."
)


def print_policies(policies: Sequence[PoolPolicy]) -> None:
    """Print one row per pool."""
    _print([_cells(policy) for policy in policies])


def print_changes(changes: Sequence[tuple[PoolPolicy | None, PoolPolicy]]) -> None:
    """Print one row per pool, with "old → new" where a value changed.

    Args:
        changes: Old and new policy of each pool; None where the pool is new.
    """
    _print(
        [
            [
                after if before == after else f"{before} → {after}"
                for before, after in zip(_cells(old or new), _cells(new), strict=True)
            ]
            for old, new in changes
        ]
    )


def _cells(policy: PoolPolicy) -> list[str]:
    return [
        policy.pool,
        policy.instance,
        str(policy.temperature),
        str(policy.prefill_weight),
        str(policy.version),
    ]


def _print(rows: Sequence[Sequence[str]]) -> None:
    console = Console(highlight=False)
    if not rows:
        console.print(_NO_POOL)
        return
    table = Table()
    # Folded, never cut: half a number is another number.
    table.add_column("pool", overflow="fold")
    table.add_column("instance", overflow="fold")
    for heading in ("temperature τ", "prefill weight ω", "version"):
        table.add_column(heading, justify="right", overflow="fold")
    for row in rows:
        table.add_row(*row)
    console.print(table)
