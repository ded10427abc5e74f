"""Members in processes of their own, and a real nats-server.

That no member's version goes back, and that no version stands for two policies, is checked of all
logs at the end of every test (conftest.py).
"""

import json
import logging
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import trustme

from dynamo_regime.control.fleet.fleet import Fleet
from dynamo_regime.control.fleet.nats_settings import NatsSettings
from dynamo_regime.control.fleet.records import FleetError
from dynamo_regime.control.fleet.settings import FleetSettings
from tests.integration.fleet.nats_process import NatsProcess, get, put

if TYPE_CHECKING:
    from tests.integration.fleet.conftest import MemberProcess

    Join = Callable[[str], MemberProcess]
    Wait = Callable[[str, Callable[[], bool]], None]

pytestmark = pytest.mark.integration


def deciders(members: "Sequence[MemberProcess]") -> "list[MemberProcess]":
    return [member for member in members if member.now["is_decider"]]


def one_decides_and_all_follow(
    members: "Sequence[MemberProcess]", wait: "Wait", above: int = 0
) -> "MemberProcess":
    """Wait for it, with a version of more than ``above`` everywhere; returns the decider."""
    found: list[MemberProcess] = []

    def one_decides() -> bool:
        found[:] = deciders(members)
        return len(found) == 1

    wait("all adopt", lambda: all(member.now["version"] > above for member in members))
    wait("exactly one decides", one_decides)
    return found[0]


def test_three_members_have_one_decider_and_a_late_joiner_adopts_its_policy(
    join: "Join", wait: "Wait"
) -> None:
    members = [join(name) for name in "abc"]
    decider = one_decides_and_all_follow(members, wait, above=3)
    version = decider.now["version"]
    late = join("late")
    wait("the late one adopts", lambda: late.now["version"] >= version)
    first = next(line["version"] for line in late.lines() if line["version"] > 0)
    assert first >= version, "its first policy is the one in force"


def test_every_member_has_the_reading_of_all(join: "Join", wait: "Wait") -> None:
    members = [join(name) for name in "abc"]
    wait("rates are added up", lambda: all(member.now["rate"] == 30.0 for member in members))


def test_a_killed_decider_is_succeeded_and_versions_go_on(join: "Join", wait: "Wait") -> None:
    members = [join(name) for name in "abc"]
    decider = one_decides_and_all_follow(members, wait)
    decider.kill()
    rest = [member for member in members if member is not decider]
    reached = max(member.now["version"] for member in rest)
    one_decides_and_all_follow(rest, wait, above=reached)


def test_a_decider_that_stood_still_follows_its_successor(join: "Join", wait: "Wait") -> None:
    members = [join(name) for name in "abc"]
    decider = one_decides_and_all_follow(members, wait)
    decider.stand_still()
    rest = [member for member in members if member is not decider]
    reached = max(member.now["version"] for member in rest)
    successor = one_decides_and_all_follow(rest, wait, above=reached)
    ahead = successor.now["version"]
    decider.go_on()
    wait("it sees that it decides no more", lambda: not decider.now["is_decider"])
    wait("it adopts its successor's policies", lambda: decider.now["version"] >= ahead)
    one_decides_and_all_follow(members, wait, above=ahead)


def test_a_decider_whose_controller_hangs_hands_the_lease_on(join: "Join", wait: "Wait") -> None:
    members = [join(name) for name in "abc"]
    decider = one_decides_and_all_follow(members, wait)
    decider.hang()
    wait("it decides no more", lambda: not decider.now["is_decider"])
    rest = [member for member in members if member is not decider]
    ahead = max(member.now["version"] for member in members)
    assert one_decides_and_all_follow(rest, wait, above=ahead) is not decider
    wait("it follows", lambda: decider.now["version"] > ahead)


def test_a_decider_that_leaves_hands_the_lease_back(
    nats: NatsProcess, join: "Join", wait: "Wait"
) -> None:
    alone = join("alone")
    assert one_decides_and_all_follow([alone], wait) is alone
    alone.leave()
    assert json.loads(get(nats.url, "test-fleet", "lease"))["state"] == "released"
    successor = join("successor")
    assert one_decides_and_all_follow([successor], wait) is successor


def test_a_restarted_server_is_rejoined_with_the_policy_kept_meanwhile(
    nats: NatsProcess, join: "Join", wait: "Wait"
) -> None:
    members = [join(name) for name in "abc"]
    one_decides_and_all_follow(members, wait)
    nats.kill()
    wait("all say so", lambda: all(member.now["connected"] is False for member in members))
    kept = [member.now["version"] for member in members]
    assert min(kept) > 0
    assert not deciders(members)
    nats.start()
    wait("all are back", lambda: all(member.now["connected"] for member in members))
    one_decides_and_all_follow(members, wait, above=max(kept))


def test_a_server_that_hangs_is_noticed_and_rejoined(
    nats: NatsProcess, join: "Join", wait: "Wait"
) -> None:
    members = [join(name) for name in "abc"]
    one_decides_and_all_follow(members, wait)
    nats.stand_still()
    wait("all say so", lambda: all(member.now["connected"] is False for member in members))
    kept = [member.now["version"] for member in members]
    nats.go_on()
    one_decides_and_all_follow(members, wait, above=max(kept))


def test_a_server_that_lost_its_data_does_not_take_the_members_back(
    nats: NatsProcess, join: "Join", wait: "Wait"
) -> None:
    members = [join(name) for name in "abc"]
    one_decides_and_all_follow(members, wait, above=5)
    nats.kill()
    nats.lose_data()
    kept = max(member.now["version"] for member in members)
    nats.start()
    one_decides_and_all_follow(members, wait, above=kept)


def fleet(url: str, bucket: str = "test-fleet") -> Fleet:
    settings = NatsSettings.from_environment({"NATS_SERVER": url})
    return Fleet(FleetSettings(bucket=bucket), settings, "m", lambda: 0.0)


def test_a_bucket_with_a_newer_schema_is_refused_in_one_sentence(nats: NatsProcess) -> None:
    put(nats.url, "test-fleet", "policy", b'{"schema": 2, "moods": {}}')
    with pytest.raises(FleetError) as refused:
        fleet(nats.url).start()
    assert str(refused.value) == (
        "key policy of the NATS bucket test-fleet has schema 2 and this dynamo-regime reads up to"
        " 1: upgrade this frontend, or name another bucket"
    )


def test_a_bucket_of_another_program_is_refused_in_one_sentence(nats: NatsProcess) -> None:
    put(nats.url, "test-fleet", "lease", b"\xff not ours")
    with pytest.raises(FleetError, match="is no lease record of dynamo-regime") as refused:
        fleet(nats.url).start()
    assert "\n" not in str(refused.value)


def test_nats_that_is_not_there_at_start_is_joined_when_it_comes(
    nats: NatsProcess, wait: "Wait", caplog: pytest.LogCaptureFixture
) -> None:
    nats.kill()
    member = fleet(nats.url)
    member.start()
    try:
        assert not member.status().connected
        assert "NATS_SERVER" in member.status().reason
        assert "out of reach" in caplog.text
        nats.start()
        wait("it joins", lambda: member.status().connected)
    finally:
        member.stop()


@pytest.mark.parametrize(
    ("options", "right", "wrong"),
    [
        (
            ("--auth", "s3cret"),
            {"NATS_AUTH_TOKEN": "s3cret"},
            {"NATS_AUTH_TOKEN": "wr0ng"},
        ),
        (
            ("--user", "ursula", "--pass", "s3cret"),
            {"NATS_AUTH_USERNAME": "ursula", "NATS_AUTH_PASSWORD": "s3cret"},
            {"NATS_AUTH_USERNAME": "ursula", "NATS_AUTH_PASSWORD": "wr0ng"},
        ),
        (
            ("--user", "ursula", "--pass", "s3cret"),
            {"NATS_SERVER": "nats://ursula:s3cret@{address}"},
            {"NATS_SERVER": "nats://ursula:wr0ng@{address}"},
        ),
    ],
)
def test_the_right_login_lets_in_the_wrong_one_is_said_and_neither_is_told(
    nats: NatsProcess,
    wait: "Wait",
    caplog: pytest.LogCaptureFixture,
    options: tuple[str, ...],
    right: dict[str, str],
    wrong: dict[str, str],
) -> None:
    caplog.set_level(logging.DEBUG)
    nats.kill()
    with NatsProcess(nats.folder, *options) as guarded:
        address = guarded.url.removeprefix("nats://")
        for login, lets_in in ((wrong, False), (right, True)):
            environment = {"NATS_SERVER": guarded.url} | login
            environment["NATS_SERVER"] = environment["NATS_SERVER"].format(address=address)
            settings = NatsSettings.from_environment(environment)
            member = Fleet(FleetSettings(), settings, "m", lambda: 0.0)
            member.start()
            wait("it is told", partial(said, member, "" if lets_in else "authorization"))
            reason = member.status().reason
            member.stop()
            for secret in ("ursula", "s3cret", "wr0ng"):
                assert secret not in reason + caplog.text + repr(settings)


def said(member: Fleet, told: str) -> bool:
    """Whether ``told`` is why it is not connected; "" if it is connected."""
    status = member.status()
    return status.connected if told == "" else told in status.reason.lower()


def test_over_tls_server_and_member_know_each_other_by_certificate(
    tmp_path: Path, nats: NatsProcess, wait: "Wait"
) -> None:
    nats.kill()
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    for name, whose in (("server", "127.0.0.1"), ("client", "frontend.example")):
        issued = authority.issue_cert(whose)
        issued.cert_chain_pems[0].write_to_path(tmp_path / f"{name}.pem")
        issued.private_key_pem.write_to_path(tmp_path / f"{name}.key")
    files = {
        "--tlscert": "server.pem",
        "--tlskey": "server.key",
        "--tlscacert": "ca.pem",
    }
    options = [part for option, file in files.items() for part in (option, str(tmp_path / file))]
    trust = {"NATS_TLS_CA_CERT_PATH": str(tmp_path / "ca.pem")}
    identity = {
        "NATS_TLS_CLIENT_CERT_PATH": str(tmp_path / "client.pem"),
        "NATS_TLS_CLIENT_KEY_PATH": str(tmp_path / "client.key"),
    }
    with NatsProcess(nats.folder, "--tlsverify", *options) as guarded:
        server = {"NATS_SERVER": guarded.url.replace("nats://", "tls://")}
        for environment, told in (
            (server | trust | identity, ""),
            (server | trust, "check nats_server, nats_auth_* and nats_tls_*"),
            (server | identity, "certificate_verify_failed"),
        ):
            settings = NatsSettings.from_environment(environment)
            member = Fleet(FleetSettings(), settings, "m", lambda: 0.0)
            member.start()
            wait("it is let in, or refused", partial(said, member, told))
            member.stop()
