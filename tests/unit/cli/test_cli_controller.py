"""``dynamo-regime watch``, ``events`` and ``set --for``."""

import json
from collections.abc import Iterator

import pytest

from dynamo_regime.admin.server import AdminServer, start_admin
from dynamo_regime.cli.watch import sparkline
from dynamo_regime.control.settings import Mode
from tests.unit.admin.two_pools import TwoPools
from tests.unit.cli.conftest import Run
from tests.unit.control.live_parts import Rig, rig


@pytest.fixture
def one(pools: TwoPools) -> Rig:
    return rig(Mode.ACT, pools)


@pytest.fixture
def controlled(one: Rig) -> Iterator[AdminServer]:
    server = start_admin(one.pools, "127.0.0.1", 0, token=None, controller=one.running)
    yield server
    server.stop()


def test_set_for_keeps_the_controller_from_changing_it(
    run: Run, one: Rig, controlled: AdminServer, pools: TwoPools
) -> None:
    where = ("--admin", controlled.url)
    assert run("set", "--prefill-weight", "7", "--for", "10m", *where).exit_code == 0
    assert one.live.state().overrides == {None: pytest.approx(600.0)}
    one.run(5, backlog_seconds=0.01)
    assert {policy.prefill_weight for policy in pools.policies()} == {7.0}


@pytest.mark.parametrize("name", [("--pool", "decode"), ("--instance", "wärm")])
def test_set_for_leaves_the_other_pools_to_the_controller(
    run: Run, one: Rig, controlled: AdminServer, pools: TwoPools, name: tuple[str, str]
) -> None:
    arguments = ("--prefill-weight", "7", "--for", "1.5h", *name, "--admin", controlled.url)
    assert run("set", *arguments).exit_code == 0
    one.run(5, backlog_seconds=0.01)
    weights = {policy.pool: policy.prefill_weight for policy in pools.policies()}
    assert weights == {"prefill": 2.0, "decode": 7.0}


@pytest.mark.parametrize("time", ["", "10", "0s", "-1m", "8d", "soon", "nans"])
def test_set_for_no_time_is_refused_and_changes_nothing(
    run: Run, controlled: AdminServer, pools: TwoPools, time: str
) -> None:
    before = pools.policies()
    result = run("set", "--temperature", "1", f"--for={time}", "--admin", controlled.url)
    assert result.exit_code == 2
    assert "90s, 10m or 1.5h" in result.stderr
    assert pools.policies() == before


def test_set_for_without_a_controller_is_refused_and_changes_nothing(
    run: Run, listener: AdminServer, pools: TwoPools
) -> None:
    before = pools.policies()
    result = run("set", "--temperature", "1", "--for", "1m", "--admin", listener.url)
    assert result.exit_code == 1
    assert "runs no controller" in result.stderr
    assert pools.policies() == before


def test_events_as_json_are_one_line_each(run: Run, one: Rig, controlled: AdminServer) -> None:
    one.run(10, backlog_seconds=0.01)
    one.run(5, backlog_seconds=1.0)
    result = run("events", "--json", "--admin", controlled.url)
    kinds = [json.loads(line)["kind"] for line in result.stdout.splitlines()]
    assert kinds == ["swap", "swap", "transition", "swap", "swap"]


def test_events_for_people_say_what_changed_and_why(
    run: Run, one: Rig, controlled: AdminServer
) -> None:
    one.run(10, backlog_seconds=0.01)
    one.run(5, backlog_seconds=1.0)
    lines = run("events", "--limit", "3", "--admin", controlled.url).stdout.splitlines()
    assert "normal → transition (load): prefill backlog 1 s per worker" in lines[0]
    assert "prefill: τ 0 → 0, ω 2 → 1" in lines[1]
    assert len(lines) == 3


def test_watch_shows_regime_policies_workers_and_events(
    run: Run, one: Rig, controlled: AdminServer
) -> None:
    one.run(10, backlog_seconds=0.01)
    one.run(5, backlog_seconds=1.0)
    one.live.override(60.0, "decode")
    screen = run("watch", "--once", "--admin", controlled.url).stdout
    assert "controller: act   regime: transition" in screen
    assert "decode is left to a person for 60 s more" in screen
    assert "normal → transition" in screen
    assert "1,500" in screen
    assert "hung or dead" in screen, "no thread runs in this test"


def test_watch_without_a_listener_ends_with_one_sentence(run: Run) -> None:
    result = run("watch", "--once", "--admin", "http://127.0.0.1:1")
    assert result.exit_code == 1
    assert result.stderr.count("\n") == 1


def test_a_sparkline_scales_to_its_largest_value_and_leaves_gaps() -> None:
    assert sparkline([0.0, None, 1.0, 2.0]) == "▁ ▅█"
    assert sparkline([0.0, 0.0]) == "▁▁"
    assert sparkline([None]) == " "
