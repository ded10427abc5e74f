"""The listener's thread: where it listens, what it leaves alone, and how it ends."""

import itertools
import logging
import signal
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from dynamo_regime import RegimeError, Router
from dynamo_regime.admin.server import AdminServer, check_admin, start_admin
from tests.unit.admin.two_pools import TwoPools

TOKEN = "a-token"
OUTSIDE = ["0.0.0.0", "::", "192.0.2.1", "2001:db8::1"]
LINE_BREAK_TOKENS = ["", " ", "from-a-file\n", "tökén", "two words"]


@pytest.fixture
def server() -> Iterator[AdminServer]:
    running = start_admin(TwoPools(), "127.0.0.1", 0, token=None)
    yield running
    running.stop()


def names(monkeypatch: pytest.MonkeyPatch, name: str, *addresses: str) -> None:
    """Let a name resolve to these addresses, without asking anybody outside."""
    resolve = socket.getaddrinfo

    def getaddrinfo(host: str, port: int, **options: Any) -> list[Any]:
        if host != name:
            return resolve(host, port, **options)
        return [entry for address in addresses for entry in resolve(address, port, **options)]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)


def refuse_to_bind(monkeypatch: pytest.MonkeyPatch) -> None:
    def create_server(*arguments: Any, **options: Any) -> socket.socket:
        raise AssertionError(f"a socket was bound: {arguments} {options}")

    monkeypatch.setattr(socket, "create_server", create_server)


def test_the_listener_answers_as_soon_as_it_is_started_and_knows_its_port(
    server: AdminServer,
) -> None:
    assert server.host == "127.0.0.1"
    assert server.port > 0
    assert server.url == f"http://127.0.0.1:{server.port}"
    assert httpx.get(f"{server.url}/v1/policy").status_code == 200


def test_localhost_is_listened_on_without_a_token() -> None:
    server = start_admin(TwoPools(), "localhost", 0, token=None)
    assert server.host == "127.0.0.1"
    assert httpx.get(f"http://localhost:{server.port}/v1/policy").status_code == 200
    server.stop()


@pytest.mark.skipif(not socket.has_ipv6, reason="this machine has no IPv6")
def test_the_ipv6_loopback_is_listened_on_without_a_token() -> None:
    server = start_admin(TwoPools(), "::1", 0, token=None)
    assert server.url == f"http://[::1]:{server.port}"
    assert httpx.get(f"{server.url}/v1/policy").status_code == 200
    server.stop()


@pytest.mark.parametrize("host", OUTSIDE)
def test_an_address_that_others_can_reach_needs_a_token(
    monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    refuse_to_bind(monkeypatch)
    with pytest.raises(RegimeError, match=r"needs a token: set DYNAMO_REGIME_ADMIN_TOKEN, or"):
        start_admin(TwoPools(), host, 0, token=None)


@pytest.mark.parametrize("address", OUTSIDE)
def test_a_name_of_an_address_that_others_can_reach_needs_a_token(
    monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    names(monkeypatch, "localhost.example", address)
    refuse_to_bind(monkeypatch)
    with pytest.raises(RegimeError, match=r"localhost\.example:9345 .* needs a token"):
        start_admin(TwoPools(), "localhost.example", 9345, token=None)


def test_of_a_name_with_two_addresses_the_one_that_is_bound_decides_about_the_token(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names(monkeypatch, "both.example", "2001:db8::1", "127.0.0.1")
    server = start_admin(TwoPools(), "both.example", 0, token=None)
    assert server.host == "127.0.0.1"
    server.stop()
    names(monkeypatch, "other.example", "::1", "192.0.2.1")
    with pytest.raises(RegimeError, match="needs a token"):
        start_admin(TwoPools(), "other.example", 0, token=None)


def test_with_a_token_the_address_that_was_asked_for_is_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bound: list[Any] = []
    create_server = socket.create_server

    def on_loopback(address: Any, **options: Any) -> socket.socket:
        bound.append(address)
        return create_server(("127.0.0.1", 0), **options)

    monkeypatch.setattr(socket, "create_server", on_loopback)
    server = start_admin(TwoPools(), "0.0.0.0", 9345, TOKEN)
    assert bound == [("0.0.0.0", 9345)]
    assert httpx.get(f"{server.url}/v1/policy").status_code == 401
    server.stop()


@pytest.mark.parametrize("token", LINE_BREAK_TOKENS)
def test_a_token_that_no_header_can_carry_is_refused_without_telling_it(
    monkeypatch: pytest.MonkeyPatch, token: str
) -> None:
    refuse_to_bind(monkeypatch)
    with pytest.raises(RegimeError, match="DYNAMO_REGIME_ADMIN_TOKEN") as refusal:
        start_admin(TwoPools(), "127.0.0.1", 0, token)
    assert not token.strip() or token.strip() not in str(refusal.value)


def test_a_port_in_use_is_told_with_its_address(server: AdminServer) -> None:
    with pytest.raises(RegimeError) as refusal:
        start_admin(TwoPools(), "127.0.0.1", server.port, token=None)
    assert str(refusal.value) == (
        f"the admin listener cannot listen on 127.0.0.1:{server.port}: address already in use; "
        "choose another address or port, or stop what has this one"
    )


@pytest.mark.parametrize("port", [-1, 65536])
def test_a_port_out_of_range_is_refused(port: int) -> None:
    with pytest.raises(RegimeError, match=f"port must be 0 to 65535, but is {port}"):
        start_admin(TwoPools(), "127.0.0.1", port, token=None)


@pytest.mark.parametrize("host", ["nowhere.example", "", "a" * 70 + ".example", "127.0.0.1:9345"])
def test_a_host_that_does_not_resolve_is_refused(
    monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    def getaddrinfo(name: str, *_: Any, **__: Any) -> list[Any]:
        name.encode("idna")  # as the real one does before it asks
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    with pytest.raises(RegimeError, match="cannot find the address"):
        start_admin(TwoPools(), host, 0, token=None)


def test_an_answer_leaves_at_once_instead_of_waiting_for_an_acknowledgement(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    connections: list[socket.socket] = []
    accept = socket.socket.accept

    def remembering_accept(listener: socket.socket) -> tuple[socket.socket, Any]:
        connection, address = accept(listener)
        connections.append(connection)
        return connection, address

    monkeypatch.setattr(socket.socket, "accept", remembering_accept)
    server = start_admin(TwoPools(), "127.0.0.1", 0, token=None)
    with httpx.Client(base_url=server.url) as client:
        assert client.get("/v1/policy").status_code == 200
        (connection,) = connections
        assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    server.stop()


def test_signals_stay_with_who_had_them() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    server = start_admin(TwoPools(), "127.0.0.1", 0, token=None)
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before
    server.stop()
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


def test_nothing_is_logged_or_printed_about_starts_stops_and_requests_good_or_bad(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    with caplog.at_level(logging.INFO):
        server = start_admin(TwoPools(), "127.0.0.1", 0, token=None)
        for request, status in (
            (b"GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n", b"404"),
            (b"\x16\x03\x01 not HTTP\r\n\r\n", b"400"),
        ):
            with socket.create_connection((server.host, server.port)) as connection:
                connection.sendall(request)
                assert connection.recv(1024).startswith(b"HTTP/1.1 " + status)
        server.stop()
    captured = capfd.readouterr()
    assert (caplog.text, captured.out, captured.err) == ("", "", "")


def test_a_bug_of_the_router_is_told_and_the_listener_goes_on(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    pools = TwoPools()
    server = start_admin(pools, "127.0.0.1", 0, token=None)
    with monkeypatch.context() as broken:
        broken.setattr(pools, "policies", lambda: 1 / 0)
        response = httpx.get(f"{server.url}/v1/policy")
    assert response.status_code == 500
    assert response.json() == {
        "error": "the listener failed on this request, which is a bug: its log tells more"
    }
    assert httpx.get(f"{server.url}/v1/policy").status_code == 200
    server.stop()  # it logs after it has answered
    assert "ZeroDivisionError" in caplog.text


def test_stop_ends_the_thread_and_frees_the_port_with_clients_still_connected() -> None:
    threads = threading.active_count()
    server = start_admin(TwoPools(), "127.0.0.1", 0, token=None)
    with (
        httpx.Client(base_url=server.url) as idle,
        socket.create_connection((server.host, server.port)) as half_a_head,
        socket.create_connection((server.host, server.port)) as half_a_body,
    ):
        half_a_body.sendall(
            b"PUT /v1/policy HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n{"
        )
        half_a_head.sendall(b"GET /v1/pol")
        assert idle.get("/v1/policy").status_code == 200
        server.stop()
        assert threading.active_count() == threads
        socket.create_server((server.host, server.port)).close()
    server.stop()  # once more changes nothing


def test_concurrent_swaps_of_a_real_router_get_versions_that_only_grow() -> None:
    router = Router()
    server = start_admin(router, "127.0.0.1", 0, token=None)
    swaps_each = 25

    def swap(thread: int) -> list[tuple[int, float]]:
        with httpx.Client(base_url=server.url) as client:
            answers = [
                client.put("/v1/policy", json={"temperature": thread + swap / 100}).json()
                for swap in range(swaps_each)
            ]
        return [
            (policy["version"], policy["temperature"])
            for answer in answers
            for policy in answer["policies"]
        ]

    with ThreadPoolExecutor(8) as pool:
        answered = list(pool.map(swap, range(8)))
    for answers in answered:
        versions = [version for version, _ in answers]
        assert versions == sorted(set(versions))
    everything = sorted(itertools.chain.from_iterable(answered))
    assert [version for version, _ in everything] == list(range(2, 8 * swaps_each + 2))
    assert (router.policy.version, router.policy.temperature) == everything[-1]
    server.stop()


def test_the_next_selection_feels_a_swap_and_its_decision_is_shown() -> None:
    router = Router(temperature=0.0, prefill_weight=1.0)
    server = start_admin(router, "127.0.0.1", 0, token=None)
    with httpx.Client(base_url=server.url) as client:
        assert router.select([0, 10], [8, 0]).worker == 0
        assert client.put("/v1/policy", json={"prefill_weight": 0.5}).status_code == 200
        assert router.select([0, 10], [8, 0]).worker == 1
        rows = client.get("/v1/decisions").json()["decisions"]
        assert [(row["worker_id"], row["version"], row["cost"]) for row in rows] == [
            (0, 1, 8.0),
            (1, 2, 5.0),
        ]
        assert rows[0]["request_blocks"] is None
        for wrong in ({"pool": "decode"}, {"instance": "other"}):
            response = client.put("/v1/policy", json={"temperature": 1, **wrong})
            assert response.status_code == 404
            assert "router" in response.json()["error"]
    assert router.policy.version == 2
    server.stop()


def test_what_a_start_would_refuse_is_refused_beforehand() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(RegimeError, match=str(port)):
            check_admin("127.0.0.1", port, token=None)
    with pytest.raises(RegimeError, match="needs a token"):
        check_admin("0.0.0.0", 0, token=None)
    check_admin("127.0.0.1", port, token=None)
