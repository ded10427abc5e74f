"""Who is let in, and how much may be said."""

import logging
import socket
from collections.abc import Iterator

import httpx
import pytest

from dynamo_regime import PoolPolicy
from dynamo_regime.admin.server import AdminServer, start_admin
from tests.unit.admin.two_pools import START, TwoPools

TOKEN = "s3cret-~token_with.all/kinds+of=signs!"
LIMIT = 16 * 1024


@pytest.fixture(scope="module")
def closed_pools() -> TwoPools:
    return TwoPools()


@pytest.fixture(scope="module")
def closed(closed_pools: TwoPools) -> Iterator[httpx.Client]:
    """A client of a listener that asks for a token; it sends none by itself."""
    server = start_admin(closed_pools, "127.0.0.1", 0, TOKEN)
    with httpx.Client(base_url=server.url, trust_env=False) as client:
        yield client
    server.stop()


@pytest.mark.parametrize(
    "authorization",
    [
        None,
        "",
        "Bearer",
        f"Bearer {TOKEN[:-1]}",
        f"Bearer {TOKEN}x",
        f"Bearer  {TOKEN}",
        f"Bearer {TOKEN.upper()}",
        f"Basic {TOKEN}",
        TOKEN,
        "Bearer tökén",
    ],
)
@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/v1/policy"), ("PUT", "/v1/policy"), ("GET", "/openapi.json"), ("GET", "/nothing")],
)
def test_without_the_token_every_path_is_closed(
    closed: httpx.Client,
    closed_pools: TwoPools,
    method: str,
    path: str,
    authorization: str | None,
) -> None:
    headers = {"Content-Type": "application/json"}
    request = closed.build_request(method, path, headers=headers, content=b'{"temperature": 3}')
    if authorization is not None:
        request.headers = httpx.Headers(
            [*request.headers.raw, (b"Authorization", authorization.encode("latin-1"))]
        )
    response = closed.send(request)
    assert response.status_code == 401
    assert response.headers["WWW-Authenticate"] == "Bearer"
    assert "DYNAMO_REGIME_ADMIN_TOKEN" in response.json()["error"]
    assert TOKEN not in response.text
    assert closed_pools.policies() == START


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_with_the_token_a_swap_is_carried_out_whatever_name_the_host_goes_by(
    closed: httpx.Client, scheme: str
) -> None:
    response = closed.put(
        "/v1/policy",
        json={"temperature": 0.5},
        headers={"Authorization": f"{scheme} {TOKEN}", "Host": "frontend.example:9345"},
    )
    assert response.status_code == 200


def test_the_openapi_document_asks_for_the_token_where_the_listener_does(
    closed: httpx.Client, http: httpx.Client
) -> None:
    document = closed.get("/openapi.json", headers={"Authorization": f"Bearer {TOKEN}"}).json()
    operations = [operation for path in document["paths"].values() for operation in path.values()]
    assert operations
    for operation in operations:
        assert operation["security"] == [{"HTTPBearer": []}]
        assert "401" in operation["responses"]
        assert "403" not in operation["responses"]
    assert "securitySchemes" not in http.get("/openapi.json").json()["components"]


def test_the_token_is_not_logged(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    class Broken(TwoPools):
        def policies(self) -> list[PoolPolicy]:
            raise RuntimeError("broken")

    with caplog.at_level(logging.DEBUG):
        server = start_admin(Broken(), "127.0.0.1", 0, TOKEN)
        headers = {"Authorization": f"Bearer {TOKEN}"}
        assert httpx.get(f"{server.url}/v1/policy", headers=headers).status_code == 500
        assert httpx.get(f"{server.url}/v1/policy").status_code == 401
        server.stop()
    assert "RuntimeError: broken" in caplog.text
    captured = capfd.readouterr()
    assert TOKEN not in caplog.text + captured.out + captured.err


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "127.0.0.1:9345", "127.8.9.1", "localhost", "LOCALHOST:1", "[::1]", "[::1]:9345"],
)
def test_without_a_token_a_loopback_host_is_served(http: httpx.Client, host: str) -> None:
    assert http.get("/v1/policy", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:9345",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "evil-localhost",
        "192.0.2.7",
        "0.0.0.0",
        "[::]",
        "::1.evil.example",
        "@127.0.0.1",
        "2130706433.evil.example",
        "",
    ],
)
def test_without_a_token_a_rebound_name_is_refused(
    http: httpx.Client, pools: TwoPools, host: str
) -> None:
    for method in ("GET", "PUT"):
        response = http.request(
            method, "/v1/policy", json={"temperature": 3}, headers={"Host": host}
        )
        assert response.status_code == 403
        assert "Host header must name a loopback address" in response.json()["error"]
    assert pools.policies() == START


@pytest.mark.parametrize(
    "content_type",
    [
        None,
        "",
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/jsonp",
    ],
)
def test_what_a_web_form_can_send_is_refused(
    http: httpx.Client, pools: TwoPools, content_type: str | None
) -> None:
    headers = {} if content_type is None else {"Content-Type": content_type}
    response = http.put("/v1/policy", content=b'{"temperature": 3}', headers=headers)
    assert response.status_code == 415
    assert "Content-Type: application/json" in response.json()["error"]
    assert pools.policies() == START


def test_a_page_of_another_origin_is_not_allowed_to_send_a_swap(http: httpx.Client) -> None:
    preflight = http.options(
        "/v1/policy",
        headers={
            "Origin": "http://evil.example",
            "Access-Control-Request-Method": "PUT",
            "Access-Control-Request-Headers": "content-type",
        },
    )
    assert preflight.status_code == 405
    answers = [preflight, http.get("/v1/policy", headers={"Origin": "http://evil.example"})]
    for answer in answers:
        assert not [name for name in answer.headers if name.startswith("access-control-")]


def raw_request(listener: AdminServer, request: bytes) -> bytes:
    """Send bytes as they are, and read until the listener closes."""
    with socket.create_connection((listener.host, listener.port), timeout=30) as connection:
        connection.sendall(request)
        answer = bytearray()
        while chunk := connection.recv(65536):
            answer += chunk
        return bytes(answer)


def put_head(*headers: str) -> bytes:
    lines = [
        "PUT /v1/policy HTTP/1.1",
        "Host: 127.0.0.1",
        "Connection: close",
        "Content-Type: application/json",
        *headers,
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n"


def test_a_body_of_the_largest_size_is_read(http: httpx.Client, pools: TwoPools) -> None:
    body = b'{"temperature": 3}'.ljust(LIMIT)
    assert http.put(
        "/v1/policy", content=body, headers={"Content-Type": "application/json"}
    ).is_success
    assert pools.policies()[0].temperature == 3


def test_a_body_announced_as_too_large_is_refused_before_it_is_sent(
    listener: AdminServer, pools: TwoPools
) -> None:
    answer = raw_request(listener, put_head(f"Content-Length: {LIMIT + 1}"))
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b'{"error":"the body must not be larger than 16384 bytes"}' in answer
    assert pools.policies() == START


def test_a_body_of_unannounced_size_is_refused_when_it_becomes_too_large(
    listener: AdminServer, pools: TwoPools
) -> None:
    body = b'{"temperature": 3}'.ljust(LIMIT + 1)
    chunked = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    answer = raw_request(listener, put_head("Transfer-Encoding: chunked") + chunked)
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert pools.policies() == START


def test_a_client_that_sends_all_of_a_far_too_large_body_still_reads_the_refusal(
    http: httpx.Client, pools: TwoPools
) -> None:
    response = http.put(
        "/v1/policy", content=b" " * 5_000_000, headers={"Content-Type": "application/json"}
    )
    assert response.status_code == 413
    assert http.get("/v1/policy").status_code == 200
    assert pools.policies() == START


def test_a_request_cut_off_within_its_body_changes_nothing(
    listener: AdminServer, http: httpx.Client, pools: TwoPools
) -> None:
    with socket.create_connection((listener.host, listener.port)) as connection:
        connection.sendall(put_head("Content-Length: 100") + b'{"temperature": 3}')
    assert http.get("/v1/policy").status_code == 200
    assert pools.policies() == START
