"""Ten minutes of each of three steady loads: the regime is found once and kept.

Takes half an hour; `pytest -m slow tests/live/test_steady_load.py`, on an idle machine.
"""

import asyncio
from contextlib import suppress

import pytest

from testbed.prompts import Phase
from testbed.session import Scenario, Session, Swap
from tests.live.controlled import MIX, START, serving

pytestmark = [pytest.mark.live, pytest.mark.slow]

STEADY_SECONDS = 600


@pytest.mark.parametrize(
    ("clients", "steps"),
    [
        (2, []),
        (40, [("normal", "transition")]),
        (120, [("normal", "transition"), ("transition", "saturated")]),
    ],
)
def test_no_false_switch_in_ten_minutes_of_a_steady_load(
    clients: int, steps: list[tuple[str, str]]
) -> None:
    scenario = Scenario((Phase("steady", clients, 100_000),), MIX, (Swap(0, **START),), seed=5)

    async def unused(_: Swap) -> int:
        return 1

    async def load(session: Session) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(STEADY_SECONDS):
                await session.run()

    with serving({"mode": "act"}) as (frontend, admin):
        session = Session(frontend.url, scenario, unused)
        asyncio.run(load(session))
        events = admin.events(limit=1_000)
    changes = [event["transition"] for event in events if event["kind"] == "transition"]
    print(f"{clients} clients: {len(session.outcomes)} requests, {len(changes)} switches")
    for change in changes:
        print(f"  {change['after']}: {change['reason']}")
    assert [one.failure for one in session.outcomes if one.failure] == []
    assert [(change["before"], change["after"]) for change in changes] == steps
