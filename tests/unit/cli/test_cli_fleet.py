"""How the admin API and ``dynamo-regime watch`` show a frontend's place in a fleet."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import httpx
import pytest

from dynamo_regime.admin.server import start_admin
from dynamo_regime.control.fleet.participation import Participation
from dynamo_regime.control.reading import Reading
from dynamo_regime.control.settings import Mode
from tests.unit.cli.conftest import Run
from tests.unit.control.fleet.fake_fleet import FakeFleet, policy
from tests.unit.control.live_parts import rig

Serve = Callable[[FakeFleet | None], str]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Starts the admin listener of a frontend in this fleet; its address."""
    with ExitStack() as stack:

        def start(fleet: FakeFleet | None) -> str:
            one = rig(Mode.ACT, fleet=None if fleet is None else Participation(fleet))
            server = start_admin(one.pools, "127.0.0.1", 0, token=None, controller=one.running)
            stack.callback(server.stop)
            return server.url

        yield start


def fleet_line(run: Run, url: str) -> list[str]:
    screen = run("watch", "--once", "--admin", url).stdout
    return [line for line in screen.splitlines() if "fleet" in line]


def test_a_member_is_shown_with_decider_and_version(run: Run, serve: Serve) -> None:
    url = serve(FakeFleet(merged=Reading(1.0, 5.0), policy=policy(12, 0.3)))
    assert httpx.get(f"{url}/v1/controller", trust_env=False).json()["fleet"] == {
        "member": "frontend-a",
        "connected": True,
        "reason": "",
        "decider": "frontend-b",
        "is_decider": False,
        "version": 12,
        "members": 3,
    }
    assert fleet_line(run, url) == [
        "fleet: version 12, decided by frontend-b, 3 members; this is frontend-a"
    ]


def test_the_decider_before_its_first_policy_is_shown_as_such(run: Run, serve: Serve) -> None:
    url = serve(FakeFleet(merged=Reading(1.0, 5.0), is_decider=True))
    assert fleet_line(run, url) == [
        "fleet: no policy yet, decided by this frontend, 3 members; this is frontend-a"
    ]


def test_a_member_out_of_reach_says_why(run: Run, serve: Serve) -> None:
    [_, trouble] = fleet_line(run, serve(FakeFleet(policy=policy(12, 0.3))))
    assert trouble.startswith("the fleet is out of reach, the policy stays: NATS does not answer")


def test_a_frontend_alone_shows_no_fleet(run: Run, serve: Serve) -> None:
    url = serve(None)
    assert httpx.get(f"{url}/v1/controller", trust_env=False).json()["fleet"] is None
    assert fleet_line(run, url) == []
