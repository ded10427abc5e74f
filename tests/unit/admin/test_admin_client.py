"""The client: it brings home what the router said, and one sentence when it cannot."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamo_regime import Decisions, Router
from dynamo_regime.admin import client as client_module
from dynamo_regime.admin.client import AdminClient, AdminError
from dynamo_regime.admin.server import AdminServer, start_admin
from dynamo_regime.admin.wire import RecentDecisions
from tests.unit.admin.two_pools import START, TwoPools, decisions


@pytest.fixture
def admin(listener: AdminServer, pools: TwoPools) -> Iterator[AdminClient]:
    del pools  # only to be fresh
    with AdminClient(listener.url, token=None) as client:
        yield client


def assert_equal(ours: Decisions, theirs: Decisions) -> None:
    assert ours.dropped == theirs.dropped
    for name, column in theirs.to_dict().items():
        assert getattr(ours, name).dtype.kind == column.dtype.kind, name
        np.testing.assert_array_equal(getattr(ours, name), column, name)


def test_policies_come_as_the_router_has_them(admin: AdminClient) -> None:
    assert admin.policies() == START


def test_a_swap_answers_with_the_policies_that_changed(admin: AdminClient, pools: TwoPools) -> None:
    changed = admin.set_policy(temperature=0.3, pool="decode")
    assert changed == [pools.policies()[1]]
    assert changed[0].temperature == 0.3
    assert admin.set_policy(prefill_weight=2, instance="cold") == [pools.policies()[0]]


def test_decisions_come_back_as_the_columns_of_a_real_router() -> None:
    router = Router(seed=1)
    for request in range(20):
        router.select([request, 10.5], [8, request])
    server = start_admin(router, "127.0.0.1", 0, token=None)
    with AdminClient(server.url, token=None) as client:
        assert_equal(client.decisions(), router.recent_decisions(100))
        assert_equal(client.decisions(limit=5), router.recent_decisions(5))
    server.stop()


def test_what_json_cannot_say_is_none_before_it_comes_to_json() -> None:
    columns = decisions(rows=2)
    columns.cost[1] = np.inf
    rows = RecentDecisions.from_columns(columns).decisions
    assert [row.cost for row in rows] == [0.1, None]
    assert [row.overlap_blocks for row in rows] == [None, None]


def test_no_decisions_are_empty_columns() -> None:
    empty = RecentDecisions.from_columns(decisions(rows=0)).to_columns()
    assert_equal(empty, decisions(rows=0))


@given(cost=st.floats(), time_ns=st.integers(0, 2**64 - 1), pool=st.text("aβ", min_size=1))
def test_a_decision_survives_the_wire_bit_for_bit(cost: float, time_ns: int, pool: str) -> None:
    sent = decisions(rows=1)
    sent.cost[0] = cost
    sent.time_ns[0] = time_ns
    wire = RecentDecisions.from_columns(sent).model_dump_json()
    received = RecentDecisions.model_validate_json(wire).to_columns()
    sent.cost[0] = cost if np.isfinite(cost) else np.nan
    assert_equal(received, sent)
    assert pool


@pytest.mark.parametrize("form", ["http://{}", "{}", "http://{}/"])
def test_an_address_may_leave_out_what_goes_without_saying(
    listener: AdminServer, pools: TwoPools, form: str
) -> None:
    with AdminClient(form.format(f"{listener.host}:{listener.port}"), token=None) as client:
        assert client.policies() == pools.policies()


@pytest.mark.parametrize(
    "address", ["", "http://", "ftp://127.0.0.1", "http://user:word@127.0.0.1", "a:b:c"]
)
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(AdminError, match=r"is not an address such as http://127\.0\.0\.1:9345"):
        AdminClient(address, token=None)


def test_the_environments_proxy_sees_nothing(
    monkeypatch: pytest.MonkeyPatch, listener: AdminServer
) -> None:
    with nobody() as address:
        for variable in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(variable, f"http://{address}")
        with AdminClient(listener.url, token=None) as client:
            assert len(client.policies()) == 2


@contextmanager
def nobody() -> Iterator[str]:
    """An address that refuses connections: bound, so that it stays free, but not listening."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{bound.getsockname()[1]}"


def test_where_nobody_listens_the_address_and_the_remedy_are_told() -> None:
    with (
        nobody() as address,
        AdminClient(address, token=None) as client,
        pytest.raises(AdminError) as refusal,
    ):
        client.policies()
    assert f"no admin listener answers at http://{address}" in str(refusal.value)
    assert "start one with 'dynamo-regime frontend'" in str(refusal.value)
    assert "--admin or DYNAMO_REGIME_ADMIN" in str(refusal.value)


def test_a_listener_that_does_not_answer_in_time_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(client_module, "TIMEOUT_SECONDS", 0.05)
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        AdminClient(f"127.0.0.1:{silent.getsockname()[1]}", token=None) as client,
        pytest.raises(AdminError, match=r"no answer within 0\.05 s"),
    ):
        client.policies()


def test_a_refusal_is_passed_on_in_the_listeners_words(
    admin: AdminClient, listener: AdminServer
) -> None:
    with pytest.raises(AdminError) as refusal:
        admin.set_policy(temperature=1, pool="encode")
    assert str(refusal.value) == (
        f"{listener.url} refused: there is no pool 'encode'; the pools are prefill and decode"
    )


def test_the_token_is_sent_and_a_wrong_one_refused_without_telling_it() -> None:
    server = start_admin(TwoPools(), "127.0.0.1", 0, token="right")
    with AdminClient(server.url, token="right") as client:
        assert client.policies() == START
    with (
        AdminClient(server.url, token="wrong-one") as client,
        pytest.raises(AdminError, match="a valid token is required") as refusal,
    ):
        client.policies()
    assert "wrong-one" not in str(refusal.value)
    server.stop()


class _Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/v1/policy" else 502)
        self.end_headers()
        self.wfile.write(b'<html>{"policies": [1]}</html>')

    def log_message(self, format: str, *_: object) -> None:  # noqa: A002
        pass


def test_something_else_that_answers_at_the_address_is_recognised() -> None:
    with HTTPServer(("127.0.0.1", 0), _Page) as other:
        thread = threading.Thread(target=other.serve_forever)
        thread.start()
        with AdminClient(f"127.0.0.1:{other.server_port}", token=None) as client:
            with pytest.raises(AdminError, match=r"\(HTTP 200\) is not an admin listener"):
                client.policies()
            with pytest.raises(AdminError, match=r"\(HTTP 502\) is not an admin listener"):
                client.decisions()
        other.shutdown()
        thread.join()


@pytest.mark.parametrize(
    "wrong",
    [
        {"temperature": float("nan")},
        {"temperature": float("inf")},
        {"temperature": np.float32(0.5)},
        {"pool": "\ud800"},
    ],
)
def test_what_json_has_no_word_for_is_refused_in_one_sentence(
    admin: AdminClient, wrong: dict[str, Any]
) -> None:
    with pytest.raises(AdminError, match="cannot be written as JSON"):
        admin.set_policy(**wrong)
    assert admin.policies() == START
