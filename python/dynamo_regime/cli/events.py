"""``dynamo-regime events``: what the controller did."""

import json
import time
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dynamo_regime.cli.connection import DEFAULT_ADDRESS, Admin, connected

if TYPE_CHECKING:
    from dynamo_regime.admin.client import AdminClient

_POLL_SECONDS = 1.0


def events(
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Show the latest so many.")] = 100,
    follow: Annotated[
        bool, typer.Option("--follow", help="Go on with those that come, until interrupted.")
    ] = False,
    admin: Admin = DEFAULT_ADDRESS,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print each as one line of JSON, with all its readings.")
    ] = False,
) -> None:
    """Show the controller's latest events, oldest first."""
    with connected(admin) as client:
        try:
            for event in _events(client, limit, follow):
                line = json.dumps(event, ensure_ascii=False) if as_json else describe(event)
                print(line, flush=follow)
        except KeyboardInterrupt:
            return


def describe(event: Mapping[str, Any]) -> str:
    """An event, as the listener tells it, in one line for people."""
    when = datetime.fromtimestamp(event["unix_time"]).strftime("%H:%M:%S")
    return f"{when}  {event['kind']:<12}  {_what(event)}"


def _what(event: Mapping[str, Any]) -> str:
    match event:
        case {"transition": transition, "kind": "transition"}:
            change = f"{transition['before']} → {transition['after']}"
            return f"{change} ({transition['cause']}): {event['reason']}"
        case {"swap": swap}:
            return (
                f"{swap['pool']}: τ {swap['temperature_before']:g} → {swap['temperature']:g}, "
                f"ω {swap['prefill_weight_before']:g} → {swap['prefill_weight']:g}; "
                f"{event['reason']}; {swap['prediction']}"
            )
        case {"quality": quality}:
            measures = ("detect_seconds", "adapt_seconds", "overshoot")
            known = [
                f"{name} {quality[name]:.2f}" for name in measures if quality[name] is not None
            ]
            return ", ".join(known) or "nothing could be told"
        case _:
            return str(event["reason"])


def _events(client: "AdminClient", limit: int, follow: bool) -> Iterator[dict[str, Any]]:
    last = 0
    while True:
        for event in client.events(limit, after=last):
            last = event["number"]
            yield event
        if not follow:
            return
        limit = 1_000
        time.sleep(_POLL_SECONDS)
