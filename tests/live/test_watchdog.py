"""The controller hangs or dies in a serving frontend: routing goes on, and the metrics say so."""

import asyncio
import time
from pathlib import Path

import pytest

from testbed.prompts import Phase
from testbed.session import Scenario, Session, Swap
from tests.live.controlled import MIX, START, page, serving

pytestmark = pytest.mark.live


def is_up(lines: list[str]) -> bool:
    return "dynamo_regime_controller_up 1.0" in lines


async def _unused(_: Swap) -> int:
    return 1


@pytest.fixture
def order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "order"
    monkeypatch.setenv("SABOTAGE", str(path))
    return path


@pytest.mark.parametrize("what", ["hang", "die"])
def test_a_controller_that_hangs_or_dies_is_told_and_routing_goes_on(
    order: Path, what: str
) -> None:
    section: dict[str, object] = {"mode": "act"}
    with serving(section, module="tests.live.sabotaged_frontend") as (frontend, admin):
        until = time.monotonic() + 30
        while not is_up(page(admin)):
            assert time.monotonic() < until
            time.sleep(0.1)
        before = admin.policies()
        order.write_text(what)
        began = time.monotonic()
        while is_up(page(admin)):
            assert time.monotonic() < began + 30
            time.sleep(0.1)
        print(f"{what}: the metrics say so after {time.monotonic() - began:.1f} s")
        scenario = Scenario((Phase("after", 8, 60),), MIX, (Swap(0, **START),), seed=9)
        session = Session(frontend.url, scenario, _unused)
        asyncio.run(session.run())
        assert [one.failure for one in session.outcomes if one.failure] == []
        assert admin.policies() == before
        assert not is_up(page(admin))
        # What a person sets is in force at once, controller or not.
        [set_now] = admin.set_policy(prefill_weight=3.0)
        assert set_now.prefill_weight == 3.0
