"""Readings of the frontend in this process: how the size of a KV block becomes known."""

from dataclasses import replace

import pytest

from dynamo_regime.frontend.settings import Settings, read_settings
from dynamo_regime.frontend.source import FrontendSource
from tests.unit.control.signals.loopback_server import LoopbackServer
from tests.unit.control.signals.test_inprocess import Frontend, decisions

PAGE = "dynamo_frontend_model_kv_cache_block_size 64\ndynamo_frontend_model_total_kv_blocks 512\n"


def settings(*arguments: str, url: str = "http://:::8000") -> Settings:
    return replace(read_settings(list(arguments), {}), url=url)


def backlog(source: FrontendSource, time: float) -> float | None:
    [worker] = source.read(time).workers or ()
    return worker.prefill_tokens


@pytest.fixture
def frontend() -> Frontend:
    return Frontend(decided=decisions({"worker_id": 1, "prefill_blocks": 2.0}))


def test_it_asks_the_frontend_every_two_seconds_until_it_knows(frontend: Frontend) -> None:
    pages = ["", PAGE]
    with LoopbackServer(lambda *_: (200, pages.pop(0))) as server:
        source = FrontendSource(frontend, settings(url=server.url))
        assert backlog(source, 0.0) is None
        assert backlog(source, 1.75) is None
        assert backlog(source, 2.0) == 128.0
        assert backlog(source, 9.0) == 128.0
    assert pages == []


def test_the_flag_says_it_where_the_page_cannot_be_had(frontend: Frontend) -> None:
    source = FrontendSource(frontend, settings("--kv-cache-block-size", "16"))
    assert backlog(source, 0.0) == 32.0
    assert (source.problem, source.lost) == ("", 0)
