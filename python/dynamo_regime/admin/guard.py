"""Who may speak to the admin API, and how much they may say."""

import hmac
import ipaddress
from http import HTTPStatus

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dynamo_regime.admin.access import TOKEN_VARIABLE
from dynamo_regime.admin.refusal import refuse
from dynamo_regime.admin.wire import MAX_BODY_BYTES


class Guard:
    """Middleware that every request passes, whatever its path.

    With a token, only who knows it gets through. Without one (loopback only), every user of the
    machine does, but no web page in such a user's browser: a page of another origin can neither
    read an answer nor send PUT, as no answer allows that (CORS); and a page whose name was rebound
    to 127.0.0.1 is given away by its own name in the Host header.
    """

    def __init__(self, app: ASGIApp, token: str | None) -> None:
        """Put the guard before ``app``."""
        self._app = app
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse the request, or hand it on with its body, which is then known to be small."""
        request = Request(scope, receive)
        refusal = self._refuse_caller(request)
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        try:
            body = await _read_body(request)
        except ClientDisconnect:
            return
        if body is None:
            sentence = f"the body must not be larger than {MAX_BODY_BYTES} bytes"
            await refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, sentence)(scope, receive, send)
            return

        async def receive_body() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        await self._app(scope, receive_body, send)

    def _refuse_caller(self, request: Request) -> Response | None:
        if self._token is None:
            host = request.headers.get("host", "")
            if _is_loopback_name(host):
                return None
            return refuse(
                HTTPStatus.FORBIDDEN,
                "the Host header must name a loopback address such as 127.0.0.1 or localhost: "
                f"use one, or start the listener with a token in {TOKEN_VARIABLE}",
            )
        scheme, _, credentials = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and hmac.compare_digest(
            credentials.encode("latin-1"), self._token.encode("ascii")
        ):
            return None
        return refuse(
            HTTPStatus.UNAUTHORIZED,
            "a valid token is required: send the listener's "
            f"{TOKEN_VARIABLE} as 'Authorization: Bearer …'",
            {"WWW-Authenticate": "Bearer"},
        )


def _is_loopback_name(host_header: str) -> bool:
    name = host_header.lower()
    name = name[1:].partition("]")[0] if name.startswith("[") else name.partition(":")[0]
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


async def _read_body(request: Request) -> bytes | None:
    """The body, or None as soon as it is too large, whether or not its length was announced."""
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and int(announced) > MAX_BODY_BYTES:
        return None
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY_BYTES:
            return None
    return bytes(body)
