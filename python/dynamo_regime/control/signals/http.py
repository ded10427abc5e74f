"""One bounded HTTP GET; the one module of the signals that speaks HTTP."""

import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Self

import httpx

from dynamo_regime.control.signals.source import SignalError

_MAX_BYTES = 16 * 1024 * 1024


class FetchError(Exception):
    """What was asked for could not be had; the message is a phrase."""


def checked_url(url: str) -> str:
    """The URL of a server, as it is.

    Raises:
        SignalError: It is none.
    """
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise SignalError(f"the URL {url!r} is invalid ({error}): write http://host:port") from None
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise SignalError(f"the URL {url!r} has no scheme or host: write http://host:port")
    return url


class HttpSource:
    """GET requests to one server, each with a time limit and a bound on the answer's size."""

    def __init__(
        self,
        url: str,
        timeout_seconds: float,
        *,
        token: str | None = None,
        authority_path: str | None = None,
    ) -> None:
        """Prepare; nothing is contacted.

        Args:
            url: Of the server, with scheme; user and password in it are used and never shown.
            timeout_seconds: For connecting, and for every wait for more of an answer.
            token: Bearer token.
            authority_path: PEM file of the authority to trust instead of the system's.

        Raises:
            SignalError: The URL or the file cannot be used.
        """
        self.url = httpx.URL(checked_url(url))
        self.shown_url = str(self.url.copy_with(userinfo=b""))
        self._client = httpx.Client(
            timeout=timeout_seconds,
            verify=_context(authority_path),
            trust_env=False,  # No proxy between us and what we watch.
            headers={"Authorization": f"Bearer {token}"} if token else {},
        )

    def get(self, path: str, params: Mapping[str, str] | None = None) -> str:
        """The text at ``path`` below the server's URL.

        Raises:
            FetchError: No answer in time, another status than 200, or too much text.
        """
        url = self.url.copy_with(path=self.url.path.rstrip("/") + path)
        try:
            with self._client.stream("GET", url, params=params) as answer:
                parts = []
                size = 0
                for part in answer.iter_bytes():
                    size += len(part)
                    if size > _MAX_BYTES:
                        raise FetchError(f"{self._name(path)} answers more than {_MAX_BYTES} bytes")
                    parts.append(part)
        except httpx.TimeoutException:
            raise FetchError(f"{self._name(path)} does not answer in time") from None
        except (httpx.HTTPError, httpx.StreamError, OSError, ssl.SSLError) as error:
            raise FetchError(f"{self._name(path)} is not to be reached ({error})") from None
        if answer.status_code != httpx.codes.OK:
            raise FetchError(f"{self._name(path)} answers with status {answer.status_code}")
        return b"".join(parts).decode(errors="replace")

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the connections."""
        self.close()

    def _name(self, path: str) -> str:
        return f"{self.shown_url.rstrip('/')}{path}"


def _context(authority_path: str | None) -> ssl.SSLContext:
    if authority_path is not None and not Path(authority_path).is_file():
        raise SignalError(f"the certificate authority {authority_path} is no file: name a PEM file")
    try:
        return ssl.create_default_context(cafile=authority_path)
    except ssl.SSLError as error:
        raise SignalError(f"{authority_path} is no PEM file of certificates ({error})") from None
