"""``dynamo-regime watch``: the controller in a terminal."""

import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dynamo_regime.cli.connection import DEFAULT_ADDRESS, Admin, connected

if TYPE_CHECKING:
    from rich.console import Group, RenderableType
    from rich.table import Table

    from dynamo_regime.admin.controller_wire import ControllerView, FleetView

_BARS = "▁▂▃▄▅▆▇█"
_HISTORY = 60
_EVENTS = 8
_WORKERS = 24
_COLOURS = {"normal": "green", "transition": "yellow", "saturated": "red"}


def watch(
    interval: Annotated[
        float, typer.Option(min=0.1, max=60.0, help="Seconds between two looks.")
    ] = 1.0,
    once: Annotated[bool, typer.Option("--once", help="Print one look and end.")] = False,
    admin: Admin = DEFAULT_ADDRESS,
) -> None:
    """Watch regime, policies, workers, latency and events until interrupted."""
    from rich.console import Console
    from rich.live import Live

    ttft: deque[float | None] = deque(maxlen=_HISTORY)
    console = Console(highlight=False)
    with connected(admin) as client:

        def look() -> "Group":
            view = client.controller()
            ttft.append(None if view.reading is None else view.reading.ttft_p99_seconds)
            return render(view, ttft, client.events(_EVENTS))

        first = look()
        if once:
            console.print(first)
            return
        with Live(first, console=console, screen=console.is_terminal) as shown:
            try:
                while True:
                    time.sleep(interval)
                    shown.update(look())
            except KeyboardInterrupt:
                return


def render(
    view: "ControllerView",
    ttft_p99_seconds: Sequence[float | None],
    events: Iterable[Mapping[str, Any]],
) -> "Group":
    """One look: how it stands, the policies, the workers, and what happened last.

    Args:
        view: How the controller stands.
        ttft_p99_seconds: TTFT P99 of the last looks, oldest first; None is not known.
        events: The latest, oldest first, as the listener tells them.
    """
    from rich.console import Group
    from rich.text import Text

    from dynamo_regime.cli.events import describe

    parts: list[RenderableType] = [_headline(view)]
    latest = ttft_p99_seconds[-1] if ttft_p99_seconds else None
    parts.append(Text(f"TTFT P99 {_number(latest, ' s')}  {sparkline(ttft_p99_seconds)}"))
    parts.append(_policies(view))
    if view.workers:
        parts.append(_workers(view))
    parts.extend(Text(describe(event), no_wrap=True, overflow="ellipsis") for event in events)
    return Group(*parts)


def sparkline(values: Sequence[float | None]) -> str:
    """One bar per value, the highest for the largest of them; a space where there is none."""
    most = max((value for value in values if value is not None), default=0.0)
    top = len(_BARS) - 1
    return "".join(
        " " if value is None else _BARS[round(top * value / most) if most > 0 else 0]
        for value in values
    )


def _headline(view: "ControllerView") -> "RenderableType":
    from rich.text import Text

    line = Text(f"controller: {view.mode}   regime: ")
    regime = view.regime or "not decided yet"
    line.append(regime, style=f"bold {_COLOURS.get(regime, 'default')}")
    line.append(f"   load index: {_number(view.load_index, '')}\n{view.reason or ''}")
    if view.fleet is not None:
        line.append(f"\n{_fleet(view.fleet)}")
    for trouble in _troubles(view):
        line.append(f"\n{trouble}", style="bold red")
    for override in view.overrides:
        name = override.pool or "every pool"
        line.append(f"\n{name} is left to a person for {override.remaining_seconds:.0f} s more")
    return line


def _fleet(fleet: "FleetView") -> str:
    version = "no policy yet" if fleet.version is None else f"version {fleet.version}"
    decider = "this frontend" if fleet.is_decider else fleet.decider or "nobody"
    return (
        f"fleet: {version}, decided by {decider}, {fleet.members} members; this is {fleet.member}"
    )


def _troubles(view: "ControllerView") -> Iterable[str]:
    if not view.healthy:
        age = view.round_age_seconds
        yield f"the controller's thread is hung or dead: nothing from it for {age:.1f} s"
    if view.fallen_back:
        yield "the safe policy is in force, for want of readings"
    if view.fleet is not None and not view.fleet.connected:
        yield f"the fleet is out of reach, the policy stays: {view.fleet.reason}"
    if view.signal_problem:
        yield view.signal_problem


def _policies(view: "ControllerView") -> "Table":
    from rich.table import Table

    table = Table("pool", "instance", "τ", "ω", "version")
    for policy in view.policies:
        settings = (f"{policy.temperature:g}", f"{policy.prefill_weight:g}", str(policy.version))
        table.add_row(policy.pool, policy.instance, *settings)
    return table


def _workers(view: "ControllerView") -> "Table":
    from rich.table import Table

    table = Table("pool", "worker", "prefill tokens", "decode blocks", "requests")
    for worker in view.workers[:_WORKERS]:
        loads = (worker.prefill_tokens, worker.decode_blocks, worker.active_requests)
        name = f"{worker.worker_id:x}/{worker.dp_rank}"
        table.add_row(worker.pool or "", name, *(_number(load, "", 0) for load in loads))
    if len(view.workers) > _WORKERS:
        table.add_row("", f"and {len(view.workers) - _WORKERS} more")
    return table


def _number(value: float | None, unit: str, digits: int = 3) -> str:
    return "–" if value is None else f"{value:,.{digits}f}{unit}"
