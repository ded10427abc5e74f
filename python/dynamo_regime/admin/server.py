"""The admin listener: the admin API in a thread of the router's own process."""

import ipaddress
import os
import socket
import threading
from typing import TYPE_CHECKING

import uvicorn

from dynamo_regime.admin.access import TOKEN_VARIABLE, check_token
from dynamo_regime.admin.app import create_app
from dynamo_regime.errors import RegimeError
from dynamo_regime.target import PolicyTarget

if TYPE_CHECKING:
    from dynamo_regime.control.running import Running

# How long `stop` lets an open request go on.
_DRAIN_SECONDS = 1


class AdminServer:
    """An admin listener that is serving.

    Attributes:
        host: The address it is bound to.
        port: The port it is bound to.
        url: Where to reach it.
    """

    def __init__(self, server: uvicorn.Server, thread: threading.Thread, host: str, port: int):
        """Take over a server that has started; ``start_admin`` makes one."""
        self._server = server
        self._thread = thread
        self.host = host
        self.port = port
        self.url = f"http://{_authority(host, port)}"

    def stop(self) -> None:
        """Refuse new requests, let open ones end (1 s at most), and wait until all is over."""
        self._server.should_exit = True
        self._thread.join()


class _ThreadedServer(uvicorn.Server):
    """Tells the thread that started it when it serves, or that it never will."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.settled = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.settled.set()

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        try:
            super().run(sockets)
        finally:
            self.settled.set()


def check_admin(host: str, port: int, token: str | None) -> None:
    """Refuse what ``start_admin`` would refuse, before anything else is started.

    Raises:
        RegimeError: As ``start_admin``.
    """
    if token is not None:
        check_token(token)
    _listen(host, port, loopback_only=token is None).close()


def start_admin(
    target: PolicyTarget,
    host: str,
    port: int,
    token: str | None,
    controller: "Running | None" = None,
) -> AdminServer:
    """Serve the admin API in a daemon thread; when this returns, it answers.

    Signals and the logging configuration stay as they are.

    Args:
        target: The router to show and to change.
        host: Address or name to listen on.
        port: TCP port; 0 takes a free one.
        token: Bearer token that callers must send; None only where the address is loopback.
        controller: What re-tunes the router, and its metrics; None if nothing does.

    Raises:
        RegimeError: The address cannot be listened on, or is not loopback and there is no token.
    """
    if token is not None:
        check_token(token)
    listener = _listen(host, port, loopback_only=token is None)
    bound_host, bound_port = listener.getsockname()[:2]
    server = _ThreadedServer(
        uvicorn.Config(
            create_app(target, token, controller),
            # One implementation of each, whatever else is installed.
            loop="asyncio",
            http="h11",
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="error",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=_DRAIN_SECONDS,
        )
    )
    thread = threading.Thread(
        target=server.run, args=([listener],), name="dynamo-regime-admin", daemon=True
    )
    thread.start()
    server.settled.wait()
    if not server.started:
        raise RegimeError(f"the admin listener on {_authority(host, port)} stopped at its start")
    return AdminServer(server, thread, bound_host, bound_port)


def _listen(host: str, port: int, *, loopback_only: bool) -> socket.socket:
    """Bind and listen, but only where the token rule allows it.

    The rule is applied to the very address that is bound, so that no name can resolve to one
    address for the check and to another for the socket.
    """
    where = _authority(host, port)
    if not 0 <= port <= 0xFFFF:
        raise RegimeError(f"the admin listener's port must be 0 to 65535, but is {port}")
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise RegimeError(
            f"the admin listener cannot find the address {host!r}: "
            "name an address of this machine, such as 127.0.0.1"
        ) from error
    # A name such as localhost often has both kinds; clients that are told "127.0.0.1" want IPv4.
    family, _, _, _, address = min(found, key=lambda entry: entry[0] != socket.AF_INET)
    if loopback_only and not ipaddress.ip_address(str(address[0])).is_loopback:
        raise RegimeError(
            f"the admin listener on {where} can be reached from other machines and needs a token: "
            f"set {TOKEN_VARIABLE}, or listen on 127.0.0.1"
        )
    try:
        listener = socket.create_server(address, family=family)
    except OSError as error:
        reason = os.strerror(error.errno).lower() if error.errno else str(error)
        raise RegimeError(
            f"the admin listener cannot listen on {where}: {reason}; "
            "choose another address or port, or stop what has this one"
        ) from error
    # Connections inherit it; else an answer's body waits 40 ms for the acknowledgement of its head.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def _authority(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
