"""Where NATS is and how to log in, from the environment variables that Dynamo itself reads."""

import importlib.util
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from dynamo_regime.control.fleet.records import FleetError

_DEFAULT_SERVER = "nats://localhost:4222"


@dataclass(frozen=True, slots=True, repr=False)
class NatsSettings:
    """How to reach NATS; its ``repr`` shows no secret.

    Attributes:
        servers: URLs, ``nats://host:port`` or ``tls://host:port``; one may hold a login.
        login: Keyword arguments of ``nats.connect`` that log in.
        tls: Context for ``tls://``, which trusts the system's authorities or the one named.
    """

    servers: tuple[str, ...]
    login: Mapping[str, Any]
    tls: ssl.SSLContext | None

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Self:
        """Read the variables.

        ``NATS_SERVER`` (several URLs are separated by commas); the first that is there of
        ``NATS_AUTH_USERNAME`` with ``NATS_AUTH_PASSWORD``, ``NATS_AUTH_TOKEN``, ``NATS_AUTH_NKEY``
        (a seed) and ``NATS_AUTH_CREDENTIALS_FILE``; ``NATS_TLS_CA_CERT_PATH``, and
        ``NATS_TLS_CLIENT_CERT_PATH`` with ``NATS_TLS_CLIENT_KEY_PATH``.

        Raises:
            FleetError: A URL, a file or a combination cannot be used.
        """
        listed = environment.get("NATS_SERVER") or _DEFAULT_SERVER
        servers = tuple(server.strip() for server in listed.split(",") if server.strip())
        for server in servers:
            if not server.startswith(("nats://", "tls://")):
                raise FleetError(
                    f"NATS_SERVER has {_without_login(server)!r}: write nats://host:port or"
                    " tls://host:port"
                )
        return cls(servers, _login(environment), _tls(environment, servers))

    @property
    def shown_servers(self) -> str:
        """The servers, for people and logs: without a login that a URL may hold."""
        return ", ".join(map(_without_login, self.servers))

    def __repr__(self) -> str:
        """Servers and kind of login only."""
        kinds = ", ".join(self.login) or "no login"
        return f"NatsSettings({self.shown_servers}; {kinds})"


def _without_login(server: str) -> str:
    scheme, separator, rest = server.rpartition("://")
    return scheme + separator + rest.rpartition("@")[2]


def _login(environment: Mapping[str, str]) -> Mapping[str, Any]:
    user, password = environment.get("NATS_AUTH_USERNAME"), environment.get("NATS_AUTH_PASSWORD")
    if user and password:
        return {"user": user, "password": password}
    if token := environment.get("NATS_AUTH_TOKEN"):
        return {"token": token}
    if seed := environment.get("NATS_AUTH_NKEY"):
        _require_nkeys("NATS_AUTH_NKEY")
        return {"nkeys_seed_str": seed}
    if path := environment.get("NATS_AUTH_CREDENTIALS_FILE"):
        _require_nkeys("NATS_AUTH_CREDENTIALS_FILE")
        return {"user_credentials": _existing("NATS_AUTH_CREDENTIALS_FILE", path)}
    return {}


def _require_nkeys(variable: str) -> None:
    if importlib.util.find_spec("nkeys") is None:
        raise FleetError(f'{variable} needs the package nkeys: pip install "nats-py[nkeys]"')


def _tls(environment: Mapping[str, str], servers: tuple[str, ...]) -> ssl.SSLContext | None:
    authority = environment.get("NATS_TLS_CA_CERT_PATH")
    certificate = environment.get("NATS_TLS_CLIENT_CERT_PATH")
    key = environment.get("NATS_TLS_CLIENT_KEY_PATH")
    if bool(certificate) != bool(key):
        raise FleetError(
            "NATS_TLS_CLIENT_CERT_PATH and NATS_TLS_CLIENT_KEY_PATH go together: set both or none"
        )
    if not any(server.startswith("tls://") for server in servers):
        if authority or certificate:
            raise FleetError("NATS_TLS_* is set, but NATS_SERVER has no tls:// URL: write tls://")
        return None
    try:
        context = ssl.create_default_context(
            cafile=_existing("NATS_TLS_CA_CERT_PATH", authority) if authority else None
        )
        if certificate and key:
            context.load_cert_chain(
                _existing("NATS_TLS_CLIENT_CERT_PATH", certificate),
                _existing("NATS_TLS_CLIENT_KEY_PATH", key),
            )
    except ssl.SSLError as error:
        raise FleetError(f"a file named by NATS_TLS_* is not valid PEM: {error}") from None
    return context


def _existing(variable: str, path: str) -> str:
    if not Path(path).is_file():
        raise FleetError(f"{variable} names {path}, which is no file")
    return path
