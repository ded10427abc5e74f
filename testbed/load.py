"""Closed-loop load over real HTTP: streamed chat completions, timed at the client."""

import asyncio
import json
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Protocol

import aiohttp

from testbed import model
from testbed.outcome import Outcome
from testbed.prompts import Request

_TIMEOUT_SECONDS = 120.0


class Route(Protocol):
    """How one request goes to a worker; its context lasts as long as the request."""

    @property
    def headers(self) -> Mapping[str, str]:
        """HTTP headers to send with the request."""
        ...

    @property
    def policy_version(self) -> int | None:
        """Version of the policy that decided, if the client knows."""
        ...

    def first_token(self) -> None:
        """The prompt is processed and the answer begins."""
        ...


@dataclass(frozen=True, slots=True)
class FrontendDecides:
    """The route of a request that the frontend sends to a worker of its own choice."""

    policy_version: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def first_token(self) -> None:
        """Nothing to note: the frontend sees it itself."""


Router = Callable[[Sequence[int]], AbstractContextManager[Route]]
"""From a prompt's token ids to its route."""


async def run(
    url: str,
    requests: Iterable[Request],
    record: Callable[[Outcome], None],
    *,
    route: Router = lambda _: nullcontext(FrontendDecides()),
    interludes: Mapping[int, Callable[[], Awaitable[None]]] | None = None,
) -> None:
    """Send all requests, each as soon as its phase's concurrency allows, and wait for the answers.

    Args:
        url: The frontend's, without a path.
        requests: What to send; a change of phase needs no pause.
        record: Gets every outcome, in order of completion.
        route: Chooses each request's way at the moment it is sent.
        interludes: What to do right before the request of that index, while those sent before it
            are under way.
    """
    under_way: set[asyncio.Task[None]] = set()
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector) as session, asyncio.TaskGroup() as group:

        async def send(request: Request) -> None:
            record(await _ask(session, url, request, route))

        for request in requests:
            while len(under_way) >= request.phase.concurrency:
                _, under_way = await asyncio.wait(under_way, return_when=asyncio.FIRST_COMPLETED)
            if interludes and request.index in interludes:
                await asyncio.sleep(0)  # A task created just now is sent before it first yields.
                await interludes[request.index]()
            under_way.add(group.create_task(send(request)))


async def _ask(
    session: aiohttp.ClientSession, url: str, request: Request, route: Router
) -> Outcome:
    body = _body(request)
    with route(request.token_ids) as way:
        answer = _Answer(request, way)
        try:
            async with asyncio.timeout(_TIMEOUT_SECONDS):
                async for chunk in _stream(session, url, body, way.headers):
                    answer.add(chunk)
        except TimeoutError:
            return answer.outcome(f"no complete answer within {_TIMEOUT_SECONDS:.0f} s")
        except (aiohttp.ClientError, _RefusedError, ValueError) as error:
            return answer.outcome(f"{type(error).__name__}: {error}")
        return answer.outcome(answer.shortfall())


class _RefusedError(Exception):
    """The frontend answered with an error."""


def _body(request: Request) -> bytes:
    return json.dumps(
        {
            "model": model.MODEL_NAME,
            "messages": [{"role": "user", "content": model.text(request.token_ids)}],
            "max_tokens": request.answer_tokens,
            "stream": True,
            "stream_options": {"include_usage": True},
            "nvext": {"extra_fields": ["worker_id", "timing"]},
        }
    ).encode()


async def _stream(
    session: aiohttp.ClientSession, url: str, body: bytes, headers: Mapping[str, str]
) -> AsyncIterator[dict[str, Any]]:
    headers = {"content-type": "application/json", **headers}
    async with session.post(f"{url}/v1/chat/completions", data=body, headers=headers) as response:
        if response.status != 200:
            raise _RefusedError(f"HTTP {response.status}: {(await response.text())[:200]}")
        acknowledge = _acknowledger(response)
        acknowledge()
        async for line in response.content:
            acknowledge()
            kind, _, data = line.partition(b": ")
            if kind == b"event" and data.strip() == b"error":
                raise _RefusedError(
                    f"error in the stream: {(await response.content.read())[:200]!r}"
                )
            if kind == b"data" and data.strip() != b"[DONE]":
                chunk = json.loads(data)
                if "choices" not in chunk:
                    raise _RefusedError(f"error in the stream: {data[:200]!r}")
                yield chunk


def _acknowledger(response: aiohttp.ClientResponse) -> Callable[[], None]:
    """A call that acknowledges at once what has been received.

    Dynamo's HTTP server leaves Nagle's algorithm on: it holds back each small write until the one
    before is acknowledged, and Linux takes up to 40 ms for that on a connection that is used again.
    Clients would measure their own kernel (a floor of 44 ms under every TTFT, tokens in bursts);
    TCP_NODELAY at their side, which aiohttp sets, changes nothing about it.
    """
    transport = response.connection and response.connection.transport
    if transport is None:
        return lambda: None  # All of the answer is here already.
    connection = transport.get_extra_info("socket")

    def acknowledge() -> None:
        with suppress(OSError):  # The frontend has closed it; what it sent is still to be read.
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)

    return acknowledge


class _Answer:
    """An answer as it comes in."""

    def __init__(self, request: Request, way: Route) -> None:
        self._request = request
        self._way = way
        self._version = way.policy_version
        self._sent = time.perf_counter()
        self._token_times: list[float] = []
        self._workers: dict[str, int] = {}
        self._usage: dict[str, Any] = {}
        self._kv_hit_rate: float | None = None

    def add(self, chunk: dict[str, Any]) -> None:
        extension = chunk.get("nvext") or {}
        if any(choice["delta"].get("content") for choice in chunk["choices"]):
            self._token_times.append(time.perf_counter())
            if len(self._token_times) == 1:
                self._way.first_token()
        self._workers = extension.get("worker_id") or self._workers
        self._kv_hit_rate = (extension.get("timing") or {}).get("kv_hit_rate", self._kv_hit_rate)
        self._usage = chunk.get("usage") or self._usage

    def shortfall(self) -> str | None:
        """What a stream that ended without an error lacks."""
        received, asked = len(self._token_times), self._request.answer_tokens
        if received != asked:
            return f"the stream ended after {received} of {asked} tokens"
        return None if self._usage else "the stream ended without its usage"

    def outcome(self, failure: str | None) -> Outcome:
        times = self._token_times
        prompt_tokens = self._usage.get("prompt_tokens", 0)
        prefill_worker = self._workers.get("prefill_worker_id")
        decode_worker = self._workers.get("decode_worker_id")
        cached_tokens: float | None = (self._usage.get("prompt_tokens_details") or {}).get(
            "cached_tokens"
        )
        if prefill_worker != decode_worker:
            cached_tokens = None if self._kv_hit_rate is None else self._kv_hit_rate * prompt_tokens
        return Outcome(
            index=self._request.index,
            phase=self._request.phase.name,
            template=self._request.template,
            policy_version=self._version,
            prefill_worker=prefill_worker,
            decode_worker=decode_worker,
            ttft_seconds=times[0] - self._sent if times else None,
            itl_seconds=tuple(later - earlier for earlier, later in pairwise(times)),
            prompt_tokens=prompt_tokens,
            cached_tokens=cached_tokens,
            failure=failure,
        )
