"""Readings of the frontend in this process, and of other sources in its place."""

from dataclasses import replace

import pytest

from dynamo_regime.control.signals.settings import (
    InProcessSignals,
    MetricsSignals,
    PrometheusSignals,
    remote_source,
)
from dynamo_regime.frontend.settings import Settings, read_settings
from dynamo_regime.frontend.source import FrontendSource, RemoteReadings
from dynamo_regime.target import Decisions
from tests.unit.control.signals.frontend_page import FrontendPage
from tests.unit.control.signals.loopback_server import LoopbackServer
from tests.unit.control.signals.test_inprocess import Frontend, decisions

PAGE = "dynamo_frontend_model_kv_cache_block_size 64\ndynamo_frontend_model_total_kv_blocks 512\n"

METRICS = FrontendPage().text()


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
        source = FrontendSource(
            frontend,
            settings(url=server.url),
            InProcessSignals(),
            lambda _: None,
            lambda _: None,
        )
        assert backlog(source, 0.0) is None
        assert backlog(source, 1.75) is None
        assert backlog(source, 2.0) == 128.0
        assert backlog(source, 9.0) == 128.0
    assert pages == []


def test_the_flag_says_it_where_the_page_cannot_be_had(frontend: Frontend) -> None:
    given = settings("--kv-cache-block-size", "16")
    source = FrontendSource(frontend, given, InProcessSignals(), lambda _: None, lambda _: None)
    assert backlog(source, 0.0) == 32.0
    assert (source.problem, source.lost) == ("", 0)


def test_a_remote_source_is_read_and_the_decisions_are_counted_all_the_same() -> None:
    with LoopbackServer(lambda *_: (200, METRICS)) as server:
        remote = remote_source(
            MetricsSignals(url=server.url),
            own_url="http://127.0.0.1:9",
            metrics_prefix="dynamo_frontend",
            environment={},
        )
        seen: list[Decisions] = []
        frontend = Frontend(decided=decisions({"worker_id": 1}, dropped=3))
        source = RemoteReadings(frontend, remote, seen.append)
        reading = source.read(1.0)
    assert reading.workers is None
    assert (source.problem, source.lost) == ("", 3)
    assert [len(each) for each in seen] == [1]


def test_by_default_the_metrics_are_those_of_this_frontend() -> None:
    with LoopbackServer(lambda *_: (200, METRICS)) as server:
        remote = remote_source(
            MetricsSignals(), own_url=server.url, metrics_prefix="dynamo_frontend", environment={}
        )
        remote.read(1.0)
        assert remote.problem == ""


def test_prometheus_that_is_not_there_at_the_start_is_told_and_waited_for() -> None:
    remote = remote_source(
        PrometheusSignals(url="http://127.0.0.1:9"),
        own_url="http://127.0.0.1:8000",
        metrics_prefix="dynamo_frontend",
        environment={},
    )
    assert remote.problem == ""
    assert remote.read(1.0).ttft is None
    assert "http://127.0.0.1:9/api/v1/query is not to be reached" in remote.problem


def test_a_source_is_read_at_its_own_pace() -> None:
    pages = [METRICS] * 3
    with LoopbackServer(lambda *_: (200, pages.pop())) as server:
        remote = remote_source(
            MetricsSignals(url=server.url, read_seconds=1.0),
            own_url="",
            metrics_prefix="dynamo_frontend",
            environment={},
        )
        times = [remote.read(quarter / 4).time for quarter in range(9)]
    assert times == [0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 2.0]
    assert pages == []
