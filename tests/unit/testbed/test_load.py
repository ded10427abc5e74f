"""The load generator against a frontend in this process: when it sends what, and what it sees."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from testbed import load, model
from testbed.outcome import Outcome
from testbed.prompts import Phase, PromptMix, requests

MIX = PromptMix(templates=2, prefix_tokens=8, tail_tokens=4, answer_tokens=3)
WORKER = {"prefill_worker_id": 1, "decode_worker_id": 1}
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def events(
    tokens: int = 3, workers: dict[str, int] = WORKER, cached: int = 8, hit_rate: float = 0.5
) -> list[str]:
    """The stream of an answer, as Dynamo's frontend sends it."""
    nvext = {"worker_id": workers}
    token = {"choices": [{"delta": {"content": " w1000"}}], "nvext": nvext}
    end = {
        "choices": [{"delta": {}, "finish_reason": "length"}],
        "nvext": nvext | {"timing": {"kv_hit_rate": hit_rate}},
    }
    usage = {
        "choices": [],
        "usage": {"prompt_tokens": 12, "prompt_tokens_details": {"cached_tokens": cached}},
    }
    return [f"data: {json.dumps(chunk)}\n\n" for chunk in [token] * tokens + [end, usage]] + [
        "data: [DONE]\n\n"
    ]


def answering(parts: Sequence[str]) -> Handler:
    """A frontend that answers every request by this stream."""

    async def handle(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for part in parts:
            await response.write(part.encode())
        return response

    return handle


def run(
    handler: Handler, phases: Sequence[Phase] = (Phase("calm", 1, 1),), **options: Any
) -> list[Outcome]:
    """The outcomes of a load on a frontend that has this handler."""
    outcomes: list[Outcome] = []

    async def session() -> None:
        application = web.Application()
        application.router.add_post("/v1/chat/completions", handler)
        async with TestServer(application) as server:
            url = str(server.make_url("")).rstrip("/")
            await load.run(url, requests(phases, MIX, 7), outcomes.append, **options)

    asyncio.run(session())
    return outcomes


def test_an_answer_in_full_is_a_success_with_all_its_facts() -> None:
    [outcome] = run(answering(events()))
    assert outcome.failure is None
    assert (outcome.prefill_worker, outcome.decode_worker) == (1, 1)
    assert outcome.ttft_seconds
    assert outcome.ttft_seconds > 0
    assert len(outcome.itl_seconds) == 2
    assert (outcome.prompt_tokens, outcome.cached_tokens) == (12, 8)


def test_in_a_disaggregated_pool_the_overlap_is_the_prefill_routers() -> None:
    apart = {"prefill_worker_id": 1, "decode_worker_id": 2}
    [outcome] = run(answering(events(workers=apart, cached=0, hit_rate=0.5)))
    assert outcome.cached_tokens == 6


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        (events(tokens=2), "ended after 2 of 3 tokens"),
        ([], "ended after 0 of 3 tokens"),
        (events()[:-2], "without its usage"),
        ([events()[0], 'event: error\ndata: {"message": "worker is gone"}\n\n'], "worker is gone"),
        (["data: no JSON\n\n"], "JSONDecodeError"),
        ([events()[0], 'data: {"error": "worker is gone"}\n\n'], "worker is gone"),
    ],
)
def test_a_stream_that_is_not_a_whole_answer_is_a_failure(parts: list[str], reason: str) -> None:
    [outcome] = run(answering(parts))
    assert reason in str(outcome.failure)


def test_an_answer_whose_connection_is_closed_right_after_it_is_a_success() -> None:
    async def close(request: web.Request) -> web.StreamResponse:
        response = await answering(events())(request)
        response.force_close()
        assert request.transport is not None
        await response.write_eof()
        request.transport.close()
        return response

    [outcome] = run(close)
    assert outcome.failure is None


def test_a_refusal_is_a_failure_that_says_why() -> None:
    async def refuse(_: web.Request) -> web.StreamResponse:
        return web.Response(status=503, text="overloaded")

    [outcome] = run(refuse)
    assert "HTTP 503: overloaded" in str(outcome.failure)


def test_a_connection_that_breaks_is_a_failure() -> None:
    async def hang_up(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    [outcome] = run(hang_up)
    assert "ServerDisconnectedError" in str(outcome.failure)


def test_as_many_requests_are_under_way_as_the_phase_says_and_never_more() -> None:
    under_way = {"calm": 0, "peak": 0}
    most = dict(under_way)
    words = {
        model.text(request.token_ids): request.phase.name for request in requests(PHASES, MIX, 7)
    }

    async def handle(request: web.Request) -> web.StreamResponse:
        phase = words[(await request.json())["messages"][0]["content"]]
        under_way[phase] += 1
        most[phase] = max(most[phase], sum(under_way.values()))
        for _ in range(50):
            await asyncio.sleep(0)
        under_way[phase] -= 1
        return await answering(events())(request)

    outcomes = run(handle, PHASES)
    assert sorted(outcome.index for outcome in outcomes) == list(range(40))
    assert most == {"calm": 2, "peak": 6}


PHASES = (Phase("calm", 2, 10), Phase("peak", 6, 30))


def test_the_chosen_way_is_sent_along_and_told_of_the_first_token() -> None:
    headers: list[str | None] = []

    async def handle(request: web.Request) -> web.StreamResponse:
        headers.append(request.headers.get("x-worker-instance-id"))
        return await answering(events())(request)

    ways: list[Way] = []

    def route(token_ids: Sequence[int]) -> Way:
        ways.append(Way(token_ids))
        return ways[-1]

    [outcome] = run(handle, route=route)
    assert headers == ["42"]
    assert outcome.policy_version == 5
    assert [(len(way.token_ids), way.events) for way in ways] == [
        (12, ["begin", "first token", "end"])
    ]


def test_an_interlude_comes_after_the_earlier_requests_were_routed_and_before_the_later_ones() -> (
    None
):
    order: list[str] = []

    def route(token_ids: Sequence[int]) -> Way:
        order.append("request")
        return Way(token_ids)

    async def interlude() -> None:
        order.append("interlude")

    run(answering(events()), (Phase("peak", 10, 10),), route=route, interludes={7: interlude})
    assert order == ["request"] * 7 + ["interlude"] + ["request"] * 3


class Way:
    """A route that keeps a diary."""

    def __init__(self, token_ids: Sequence[int]) -> None:
        self.headers = {"x-worker-instance-id": "42"}
        self.policy_version = 5
        self.token_ids = token_ids
        self.events: list[str] = []

    def __enter__(self) -> "Way":
        self.events.append("begin")
        return self

    def __exit__(self, *_: object) -> None:
        self.events.append("end")

    def first_token(self) -> None:
        self.events.append("first token")
