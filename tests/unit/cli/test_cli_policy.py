"""``dynamo-regime status`` and ``dynamo-regime set``."""

import json
from dataclasses import asdict

import pytest

from dynamo_regime import PoolPolicy, Router
from dynamo_regime.admin.server import AdminServer, start_admin
from tests.unit.admin.two_pools import START, TwoPools
from tests.unit.cli.conftest import Run


def rows(table: str) -> list[list[str]]:
    """The cells of a table's body, line by line."""
    return [
        [cell.strip() for cell in line.strip("│").split("│")]
        for line in table.splitlines()
        if line.startswith("│")
    ]


def test_status_shows_every_pool(run: Run, listener: AdminServer) -> None:
    result = run("status", "--admin", listener.url)
    assert result.exit_code == 0
    assert rows(result.stdout) == [
        ["prefill", "cold", "0.0", "1.0", "1"],
        ["decode", "wärm", "0.5", "0.25", "1"],
    ]


def test_status_as_json_is_what_the_listener_says(run: Run, listener: AdminServer) -> None:
    result = run("status", "--json", "--admin", listener.url)
    assert result.exit_code == 0
    assert json.loads(result.stdout) == {"policies": [asdict(policy) for policy in START]}


def test_status_says_what_to_do_when_no_pool_is_routed(
    run: Run, listener: AdminServer, pools: TwoPools, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_policies() -> list[PoolPolicy]:
        return []

    monkeypatch.setattr(pools, "policies", no_policies)
    result = run("status", "--admin", listener.url)
    assert result.exit_code == 0
    assert "name an instance of type 'regime' under worker_selection" in result.stdout


def test_set_changes_all_pools_and_shows_old_and_new(
    run: Run, listener: AdminServer, pools: TwoPools
) -> None:
    result = run("set", "--temperature", "0.7", "--admin", listener.url)
    assert result.exit_code == 0
    assert rows(result.stdout) == [
        ["prefill", "cold", "0.0 → 0.7", "1.0", "1 → 2"],
        ["decode", "wärm", "0.5 → 0.7", "0.25", "1 → 2"],
    ]
    assert [policy.temperature for policy in pools.policies()] == [0.7, 0.7]


@pytest.mark.parametrize("chosen", [("--pool", "decode"), ("--instance", "wärm")])
def test_set_changes_only_the_pool_or_instance_that_it_names(
    run: Run, listener: AdminServer, pools: TwoPools, chosen: tuple[str, str]
) -> None:
    result = run("set", "--prefill-weight", "3", *chosen, "--admin", listener.url, "--json")
    assert result.exit_code == 0
    old = asdict(START[1])
    new = old | {"prefill_weight": 3.0, "version": 2}
    assert json.loads(result.stdout) == {"changes": [{"old": old, "new": new}]}
    assert pools.policies()[0] == START[0]


def test_set_reaches_a_real_router(run: Run) -> None:
    router = Router()
    server = start_admin(router, "127.0.0.1", 0, token=None)
    result = run("set", "--temperature", "10", "--prefill-weight", "0", "--admin", server.url)
    server.stop()
    assert result.exit_code == 0
    assert router.policy == PoolPolicy("aggregated", "router", 10.0, 0.0, 2)


def test_the_address_and_the_token_come_from_the_environment(
    run: Run, pools: TwoPools, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = start_admin(pools, "127.0.0.1", 0, token="from-the-environment")
    monkeypatch.setenv("DYNAMO_REGIME_ADMIN", server.url)
    refused = run("status")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "a valid token is required" in refused.stderr
    monkeypatch.setenv("DYNAMO_REGIME_ADMIN_TOKEN", "from-the-environment")
    assert run("status").exit_code == 0
    assert run("set", "--temperature", "0.1").exit_code == 0
    server.stop()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "give --temperature, --prefill-weight or both"),
        (["--pool", "decode"], "give --temperature, --prefill-weight or both"),
        (["--temperature", "-1"], "'--temperature': must be finite and not negative, but is -1"),
        (["--temperature", "nan"], "'--temperature': must be finite and not negative, but is nan"),
        (["--prefill-weight", "inf"], "'--prefill-weight': must be finite and not negative"),
        (["--prefill-weight", "much"], "'--prefill-weight'"),
        (["--temprature", "1"], "--temprature"),
    ],
)
def test_wrong_use_of_set_is_told_in_a_sentence_and_nothing_is_sent(
    run: Run, listener: AdminServer, pools: TwoPools, arguments: list[str], sentence: str
) -> None:
    result = run("set", *arguments, "--admin", listener.url)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert sentence in result.stderr.splitlines()[-1]
    assert "Traceback" not in result.stderr
    assert pools.policies() == START


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--pool", "decod"], "there is no pool 'decod'; the pools are prefill and decode"),
        (["--pool", "decode", "--instance", "cold"], "the pools are prefill and decode"),
    ],
)
def test_what_the_listener_refuses_ends_set_with_its_sentence(
    run: Run, listener: AdminServer, pools: TwoPools, arguments: list[str], sentence: str
) -> None:
    result = run("set", "--temperature", "1", *arguments, "--admin", listener.url)
    assert (result.exit_code, result.stdout) == (1, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith("dynamo-regime: ")
    assert sentence in line
    assert pools.policies() == START


@pytest.mark.parametrize("command", [["status"], ["status", "--json"], ["set", "--temperature=1"]])
def test_a_listener_out_of_reach_ends_a_command_with_one_sentence(
    run: Run, listener: AdminServer, command: list[str]
) -> None:
    listener.stop()
    result = run(*command, "--admin", listener.url)
    assert (result.exit_code, result.stdout) == (1, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"dynamo-regime: no admin listener answers at {listener.url} (")


@pytest.mark.parametrize(
    ("address", "token", "sentence"),
    [
        ("ftp://127.0.0.1", "fine", "is not an address such as http://127.0.0.1:9345"),
        ("127.0.0.1:9", "line\nbreak", "DYNAMO_REGIME_ADMIN_TOKEN holds white space"),
        ("127.0.0.1:9", "", "DYNAMO_REGIME_ADMIN_TOKEN is empty"),
    ],
)
def test_an_impossible_address_or_token_ends_a_command_before_it_calls_anybody(
    run: Run, monkeypatch: pytest.MonkeyPatch, address: str, token: str, sentence: str
) -> None:
    monkeypatch.setenv("DYNAMO_REGIME_ADMIN_TOKEN", token)
    result = run("status", "--admin", address)
    assert (result.exit_code, result.stdout) == (1, "")
    (line,) = result.stderr.splitlines()
    assert sentence in line
