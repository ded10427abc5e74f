"""A client of the admin API, for the command line, the demos and scripts."""

import ssl
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

import httpx
from pydantic import BaseModel, ValidationError

from dynamo_regime.admin.access import ADDRESS_VARIABLE, DEFAULT_HOST, DEFAULT_PORT, check_token
from dynamo_regime.admin.wire import DEFAULT_LIMIT, Policies, RecentDecisions, Refusal
from dynamo_regime.errors import RegimeError
from dynamo_regime.target import Decisions, PoolPolicy

if TYPE_CHECKING:
    from dynamo_regime.admin.controller_wire import ControllerView, FinishedRequestsPage

TIMEOUT_SECONDS = 5.0

_Answer = TypeVar("_Answer", bound=BaseModel)


class AdminError(RegimeError):
    """The listener cannot be reached, or refused; the message says why and what to do."""


class AdminClient:
    """A connection to one admin listener; close it, or use it as a context manager.

    Every method raises ``AdminError`` if the listener cannot be reached within 5 s, refuses, or is
    no admin listener at all.
    """

    def __init__(self, address: str, token: str | None) -> None:
        """Prepare the connection; the first call opens it.

        Args:
            address: ``http://127.0.0.1:9345``, or the same without ``http://``.
            token: The listener's token; None if it has none.

        Raises:
            AdminError: The address is not one.
            RegimeError: The token is not one.
        """
        self._url = _base_url(address)
        headers = {}
        if token is not None:
            check_token(token)
            headers["Authorization"] = f"Bearer {token}"
        self._http = httpx.Client(
            base_url=self._url,
            headers=headers,
            timeout=TIMEOUT_SECONDS,
            # A proxy or a .netrc of the environment must see neither a local call nor the token.
            trust_env=False,
            verify=ssl.create_default_context(),
        )

    def __enter__(self) -> Self:
        """Use the client in a ``with`` block."""
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        """Close the connection."""
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._http.close()

    @property
    def address(self) -> str:
        """The listener's, without a path."""
        return self._url

    def policies(self) -> list[PoolPolicy]:
        """The present policy of every pool."""
        return self._call(Policies, "GET", "/v1/policy").policies

    def set_policy(
        self,
        *,
        temperature: float | None = None,
        prefill_weight: float | None = None,
        pool: str | None = None,
        instance: str | None = None,
    ) -> list[PoolPolicy]:
        """Change the policy of the named pool or instance, or of all; None keeps a value.

        Returns:
            The new policy of every pool that changed.
        """
        change = {
            "temperature": temperature,
            "prefill_weight": prefill_weight,
            "pool": pool,
            "instance": instance,
        }
        return self._call(Policies, "PUT", "/v1/policy", json=change).policies

    def decisions(self, limit: int = DEFAULT_LIMIT) -> Decisions:
        """The latest decisions of all pools, oldest first, at most ``limit`` (1 to 10,000)."""
        answer = self._call(RecentDecisions, "GET", "/v1/decisions", params={"limit": limit})
        return answer.to_columns()

    def controller(self) -> "ControllerView":
        """How the controller stands."""
        from dynamo_regime.admin.controller_wire import ControllerView

        return self._call(ControllerView, "GET", "/v1/controller")

    def events(self, limit: int = DEFAULT_LIMIT, after: int = 0) -> list[dict[str, Any]]:
        """The controller's latest events, oldest first, at most ``limit`` (1 to 1,000).

        Args:
            limit: The most to answer with.
            after: Only events with a higher number.
        """
        from dynamo_regime.admin.controller_wire import Events

        query = {"limit": limit, "after": after}
        return self._call(Events, "GET", "/v1/events", params=query).events

    def requests(self, limit: int, after: int | None = None) -> "FinishedRequestsPage":
        """Finished requests, oldest first, at most ``limit`` (1 to 1,000).

        Args:
            limit: The most to answer with.
            after: The first with a higher number; by default the latest.
        """
        from dynamo_regime.admin.controller_wire import FinishedRequestsPage

        query = {"limit": limit} if after is None else {"limit": limit, "after": after}
        return self._call(FinishedRequestsPage, "GET", "/v1/requests", params=query)

    def override(self, seconds: float, pool: str | None = None) -> "ControllerView":
        """Leave a pool, or all of them, to a person for so long; the controller swaps it not."""
        from dynamo_regime.admin.controller_wire import ControllerView

        body = {"seconds": seconds, "pool": pool}
        return self._call(ControllerView, "PUT", "/v1/override", json=body)

    def release(self, pool: str | None = None) -> "ControllerView":
        """End the override of a pool, or the one of all pools."""
        from dynamo_regime.admin.controller_wire import ControllerView

        query = {} if pool is None else {"pool": pool}
        return self._call(ControllerView, "DELETE", "/v1/override", params=query)

    def _call(self, model: type[_Answer], method: str, path: str, **content: Any) -> _Answer:
        try:
            response = self._http.request(method, path, **content)
        except (TypeError, ValueError) as error:
            # Not a finite number, a number of numpy's, half a character: nothing that JSON has.
            raise AdminError(f"the request cannot be written as JSON: {error}") from error
        except httpx.HTTPError as error:
            raise AdminError(
                f"no admin listener answers at {self._url} ({_reason(error)}): start one with "
                f"'dynamo-regime frontend', or name its address with --admin or {ADDRESS_VARIABLE}"
            ) from error
        try:
            if response.is_success:
                return model.model_validate_json(response.content)
            refusal = Refusal.model_validate_json(response.content)
        except ValidationError as error:
            raise AdminError(
                f"what answers at {self._url} (HTTP {response.status_code}) is not an admin "
                f"listener of dynamo-regime: correct --admin or {ADDRESS_VARIABLE}"
            ) from error
        raise AdminError(f"{self._url} refused: {refusal.error}")


def _base_url(address: str) -> str:
    try:
        url = httpx.URL(address if "://" in address else f"http://{address}")
    except httpx.InvalidURL:
        url = httpx.URL()
    if url.scheme not in ("http", "https") or not url.host or url.userinfo:
        raise AdminError(
            f"{address!r} is not an address such as http://{DEFAULT_HOST}:{DEFAULT_PORT}"
        )
    return str(url).rstrip("/")


def _reason(error: httpx.HTTPError) -> str:
    if isinstance(error, httpx.TimeoutException):
        return f"no answer within {TIMEOUT_SECONDS:g} s"
    return str(error) or type(error).__name__
