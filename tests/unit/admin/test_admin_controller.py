"""The controller's part of the admin API, and its client, over loopback."""

from collections.abc import Iterator

import httpx
import pytest

from dynamo_regime.admin.client import AdminClient, AdminError
from dynamo_regime.admin.server import AdminServer, start_admin
from dynamo_regime.control.running import Running
from dynamo_regime.control.settings import Mode
from tests.unit.admin.two_pools import START, TwoPools
from tests.unit.control.live_parts import Rig, rig
from tests.unit.control.signals.test_inprocess import requests


@pytest.fixture
def one() -> Rig:
    return rig(Mode.ACT)


@pytest.fixture
def controlled(one: Rig) -> Iterator[AdminServer]:
    server = start_admin(one.pools, "127.0.0.1", 0, token=None, controller=one.running)
    yield server
    server.stop()


@pytest.fixture
def client(controlled: AdminServer) -> Iterator[AdminClient]:
    with AdminClient(controlled.url, token=None) as client:
        yield client


@pytest.fixture
def page(controlled: AdminServer) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=controlled.url, trust_env=False) as page:
        yield page


def test_before_the_first_decision_there_is_no_regime(client: AdminClient) -> None:
    view = client.controller()
    assert (view.mode, view.regime, view.reason, view.reading) == ("act", None, None, None)
    assert view.policies == START


def test_it_shows_regime_reason_readings_workers_and_policies(
    one: Rig, client: AdminClient
) -> None:
    one.run(10, backlog_seconds=0.01)
    one.run(5, backlog_seconds=1.0)
    view = client.controller()
    assert view.regime == "transition"
    assert view.reason == "transition: prefill backlog 1 s per worker"
    assert view.load_index is not None
    assert 1 < view.load_index < 2
    assert view.reading is not None
    assert view.reading.prefill_tokens_max == 1_500.0
    assert [(each.worker_id, each.prefill_tokens) for each in view.workers] == [
        (1, 500.0),
        (2, 1_500.0),
    ]
    assert {policy.prefill_weight for policy in view.policies} == {1.0}


def test_events_are_the_latest_and_those_after_a_number(one: Rig, client: AdminClient) -> None:
    one.run(10, backlog_seconds=0.01)
    one.run(5, backlog_seconds=1.0)
    kinds = [event["kind"] for event in client.events()]
    assert kinds == ["swap", "swap", "transition", "swap", "swap"]
    assert [event["number"] for event in client.events(limit=2)] == [4, 5]
    assert [event["number"] for event in client.events(after=3)] == [4, 5]
    transition = client.events()[2]
    assert transition["transition"]["since"] < transition["time"]
    assert len(transition["readings"]) == 8


def test_finished_requests_are_the_latest_or_those_after_a_number(
    one: Rig, client: AdminClient
) -> None:
    one.finished.add(requests({"finished_at": 1.0}, {"finished_at": 2.0}, lagged=3))
    page = client.requests(limit=1)
    assert (page.last, [each.number for each in page.requests]) == (5, [5])
    assert page.requests[0].event["event_time_unix_ms"] == 2_000
    assert [each.number for each in client.requests(limit=9, after=0).requests] == [4, 5]
    assert client.requests(limit=9, after=5).requests == []


def test_where_requests_are_not_read_in_this_process_that_is_said(one: Rig) -> None:
    running = Running(one.live, one.metrics)
    server = start_admin(one.pools, "127.0.0.1", 0, token=None, controller=running)
    try:
        with (
            AdminClient(server.url, token=None) as client,
            pytest.raises(AdminError, match="set its kind to in-process"),
        ):
            client.requests(limit=1)
    finally:
        server.stop()


def test_an_override_is_taken_shown_and_ended(one: Rig, client: AdminClient) -> None:
    one.run(1, backlog_seconds=0.01)
    [override] = client.override(600.0, "prefill").overrides
    assert (override.pool, override.remaining_seconds) == ("prefill", 600.0)
    client.set_policy(prefill_weight=7.0)
    one.run(1, backlog_seconds=0.01)
    weights = {policy.pool: policy.prefill_weight for policy in client.policies()}
    assert weights == {"prefill": 7.0, "decode": 2.0}
    assert client.release("prefill").overrides == []
    one.run(1, backlog_seconds=0.01)
    assert {policy.prefill_weight for policy in client.policies()} == {2.0}


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "sentence"),
    [
        ("PUT", "/v1/override", {}, 422, "seconds must be a number above 0"),
        ("PUT", "/v1/override", {"seconds": 0}, 422, "but is 0"),
        ("PUT", "/v1/override", {"seconds": 1e9}, 422, "seconds must be"),
        ("PUT", "/v1/override", {"seconds": "10m"}, 422, 'but is "10m"'),
        ("PUT", "/v1/override", {"second": 1}, 422, 'no key "second", only seconds, pool'),
        ("PUT", "/v1/override", [], 422, '{"seconds": 600, "pool": "prefill"}'),
        ("PUT", "/v1/override", {"seconds": 1, "pool": "x"}, 404, "the pools are: decode, prefill"),
        ("DELETE", "/v1/override?pool=x", None, 404, "there is no pool 'x'"),
        ("DELETE", "/v1/override?pol=x", None, 422, 'no parameter "pol", only pool'),
        ("GET", "/v1/events?limit=0", None, 422, "limit must be a whole number from 1 to 1000"),
        (
            "GET",
            "/v1/requests?limit=1001",
            None,
            422,
            "limit must be a whole number from 1 to 1000",
        ),
        ("GET", "/v1/requests?since=1", None, 422, 'no parameter "since", only limit, after'),
        ("GET", "/v1/events?after=x", None, 422, "after must be the number of an event"),
        ("POST", "/v1/override", {}, 405, "does not take POST, only PUT, DELETE"),
    ],
)
def test_a_wrong_request_is_answered_with_one_sentence(
    page: httpx.Client, method: str, path: str, body: object, status: int, sentence: str
) -> None:
    answer = page.request(method, path, **({} if body is None else {"json": body}))  # type: ignore[arg-type]
    assert answer.status_code == status
    assert sentence in answer.json()["error"]
    assert "\n" not in answer.json()["error"]


def test_metrics_are_open_metrics_text(page: httpx.Client) -> None:
    answer = page.get("/metrics")
    assert answer.headers["content-type"].startswith("application/openmetrics-text")
    assert answer.text.endswith("# EOF\n")


@pytest.mark.parametrize("path", ["/v1/controller", "/v1/events", "/v1/override", "/metrics"])
def test_a_frontend_without_a_controller_says_how_to_get_one(path: str) -> None:
    server = start_admin(TwoPools(), "127.0.0.1", 0, token=None)
    try:
        answer = httpx.get(server.url + path, trust_env=False)
    finally:
        server.stop()
    assert answer.status_code == 404
    assert "regime_controller" in answer.json()["error"]


def test_the_client_says_so_too() -> None:
    server = start_admin(TwoPools(), "127.0.0.1", 0, token=None)
    try:
        with (
            AdminClient(server.url, token=None) as client,
            pytest.raises(AdminError, match="runs no controller"),
        ):
            client.controller()
    finally:
        server.stop()


def test_with_a_token_the_metrics_are_closed_too(one: Rig) -> None:
    server = start_admin(one.pools, "127.0.0.1", 0, token="s3cret", controller=one.running)
    try:
        assert httpx.get(f"{server.url}/metrics", trust_env=False).status_code == 401
    finally:
        server.stop()
