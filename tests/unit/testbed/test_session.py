import asyncio
import json
import re

from aiohttp import web
from aiohttp.test_utils import TestServer
from rich.console import Console

from testbed.prompts import Phase, PromptMix
from testbed.report import LiveTable, print_summary, swap_line
from testbed.session import Scenario, Session, Swap
from testbed.summary import PolicyChange

MIX = PromptMix(templates=2, prefix_tokens=8, tail_tokens=4, answer_tokens=1)
SCENARIO = Scenario(
    phases=(Phase("calm", 1, 4), Phase("peak", 3, 6)),
    mix=MIX,
    swaps=(Swap(0, 0.0, 1.0), Swap(6, 0.7, 1.0), Swap(8, 0.7, 0.1)),
    seed=7,
)
ANSWER = [
    {
        "choices": [{"delta": {"content": " w1000"}}],
        "nvext": {"worker_id": {"prefill_worker_id": 1, "decode_worker_id": 1}},
    },
    {
        "choices": [],
        "usage": {"prompt_tokens": 12, "prompt_tokens_details": {"cached_tokens": 3}},
    },
]


async def answer(request: web.Request) -> web.StreamResponse:
    """What a frontend answers."""
    response = web.StreamResponse()
    await response.prepare(request)
    for chunk in ANSWER:
        await response.write(f"data: {json.dumps(chunk)}\n\n".encode())
    return response


def run(announced: list[tuple[PolicyChange, int]]) -> tuple[Session, list[Swap]]:
    """A session that has ended, and the swaps it asked for."""
    asked: list[Swap] = []

    async def apply(swap: Swap) -> int:
        asked.append(swap)
        return 10 * len(asked)

    async def load() -> Session:
        application = web.Application()
        application.router.add_post("/v1/chat/completions", answer)
        async with TestServer(application) as server:
            url = str(server.make_url("")).rstrip("/")
            session = Session(
                url, SCENARIO, apply, on_swap=lambda *change: announced.append(change)
            )
            await session.run()
            return session

    return asyncio.run(load()), asked


def test_the_policy_is_swapped_as_the_scenario_says_and_each_request_knows_its_version() -> None:
    announced: list[tuple[PolicyChange, int]] = []
    session, asked = run(announced)
    assert asked == list(SCENARIO.swaps[1:])
    versions = {outcome.index: outcome.policy_version for outcome in session.outcomes}
    assert [versions[index] for index in range(10)] == [1] * 6 + [10] * 2 + [20] * 2
    assert [change.before_request for change, _ in announced] == [6, 8]
    assert all(0 <= under_way < 3 for _, under_way in announced), "of three at a time"


def test_the_summary_has_a_stage_for_each_phase_and_policy() -> None:
    session, _ = run([])
    summary = session.summary()
    assert (summary.requests, summary.failures) == (10, {})
    stages = [(stage.phase, stage.policy_version, stage.requests) for stage in summary.stages]
    assert stages == [("calm", 1, 4), ("peak", 1, 2), ("peak", 10, 2), ("peak", 20, 2)]
    assert [(one.version, one.temperature, one.prefill_weight) for one in summary.policies] == [
        (1, 0.0, 1.0),
        (10, 0.7, 1.0),
        (20, 0.7, 0.1),
    ]
    assert [one.swap_seconds is None for one in summary.policies] == [True, False, False]


def test_a_session_can_be_shown_before_its_first_answer() -> None:
    async def never(_: Swap) -> int:
        raise AssertionError

    console = Console(width=200, record=True)
    session = Session("http://127.0.0.1:1", SCENARIO, never)
    console.print(LiveTable(session))
    print_summary(console, session.summary(), disaggregated=False)
    assert "0 failures" in console.export_text()


def test_the_printed_summary_names_failures_policies_workers_and_how_overlap_is_counted() -> None:
    session, _ = run([])
    console = Console(width=200, record=True)
    print_summary(console, session.summary(), disaggregated=False)
    text = console.export_text()
    assert "10 requests" in text
    assert re.search(r"v20\s+0\.7\s+0\.1\s", text)
    assert "25.0%" in text, "3 of 12 prompt tokens are cached"
    assert "100.0%" in text, "the only worker's share"
    assert "usage.prompt_tokens_details.cached_tokens" in text


def test_a_swap_is_announced_with_its_policy_and_its_time() -> None:
    line = swap_line(PolicyChange(450, 2, 0.7, 0.1, swap_seconds=12e-6), 95)
    assert "before request 450, with 95 under way, in 12 µs: τ = 0.7, ω = 0.1 (version 2)" in line
    assert "in 3.5 ms" in swap_line(PolicyChange(450, 2, 0.7, 0.1, swap_seconds=3.5e-3), 95)


def test_a_session_that_has_not_begun_has_taken_no_time() -> None:
    async def never(_: Swap) -> int:
        raise AssertionError("nothing runs")

    session = Session("http://127.0.0.1", SCENARIO, apply=never)
    assert session.summary().duration_seconds == 0.0
