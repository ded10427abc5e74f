"""Readings from a frontend's page over HTTP, in time that the test passes."""

import logging
import math
from collections.abc import Iterator

import hypothesis.strategies as st
import pytest
from hypothesis import given

from dynamo_regime.control.reading import Reading, WorkerLoad
from dynamo_regime.control.signals.metrics_endpoint import MetricsEndpoint
from dynamo_regime.control.signals.scrape import PageReader
from dynamo_regime.control.signals.source import SignalError
from tests.unit.control.signals.frontend_page import FrontendPage
from tests.unit.control.signals.loopback_server import LoopbackServer

WINDOW_SECONDS = 5.0


class Frontend:
    def __init__(self) -> None:
        self.page = FrontendPage()
        self.broken: str | None = None
        self.requests = 0

    def answer(self, path: str, _: dict[str, str]) -> tuple[int, str] | None:
        self.requests += 1
        if path != "/metrics":
            return 404, ""
        if self.broken == "silent":
            return None
        return (503, "") if self.broken == "status" else (200, self.broken or self.page.text())


@pytest.fixture
def frontend() -> Frontend:
    return Frontend()


@pytest.fixture
def source(frontend: Frontend) -> Iterator[MetricsEndpoint]:
    with LoopbackServer(frontend.answer) as server:
        endpoint = MetricsEndpoint(
            server.url, WINDOW_SECONDS, minimum_count=5, timeout_seconds=30.0
        )
        yield endpoint
        endpoint.close()


def is_absent(reading: Reading) -> bool:
    return reading == Reading(reading.time, WINDOW_SECONDS)


def test_the_first_scrape_tells_loads_and_the_second_what_was_added_since(
    source: MetricsEndpoint, frontend: Frontend
) -> None:
    frontend.page = FrontendPage(
        ttft=[50.0] * 1000,
        decisions=1000,
        prompt_tokens=1000,
        queued=3,
        workers={(7, "decode"): (512.0, 40.0)},
        kv_blocks={"m": 1024},
    )
    first = source.read(100.0)
    assert (first.ttft, first.decision_rate) == (None, None)
    assert first.queue_length == 3
    assert first.workers == (
        WorkerLoad(7, 0, prefill_tokens=512, decode_blocks=40, pool="aggregated", kv_blocks=1024),
    )
    frontend.page.ttft += [0.05] * 10
    frontend.page.decisions += 20
    frontend.page.prompt_tokens += 400
    frontend.page.chosen_tokens += 100
    frontend.page.best_tokens += 200
    second = source.read(102.0)
    assert second.window == 2.0
    assert second.ttft is not None
    assert second.ttft.count == 10
    assert second.ttft.p99 is not None
    assert second.ttft.p99.value_seconds == pytest.approx(0.099)
    assert second.decision_rate == 10.0
    assert (second.overlap_chosen, second.overlap_best) == (0.25, 0.5)


def test_latencies_are_of_the_last_window_only(source: MetricsEndpoint, frontend: Frontend) -> None:
    source.read(0.0)
    for second in range(1, 21):
        frontend.page.ttft += [0.05] * second
        reading = source.read(float(second))
    assert reading.window == WINDOW_SECONDS
    assert reading.ttft is not None
    assert reading.ttft.count == 16 + 17 + 18 + 19 + 20


def test_a_restarted_frontend_counts_from_nothing(
    source: MetricsEndpoint, frontend: Frontend
) -> None:
    frontend.page = FrontendPage(ttft=[0.05] * 500, decisions=500)
    source.read(0.0)
    frontend.page = FrontendPage(ttft=[0.5] * 8, decisions=8)
    reading = source.read(2.0)
    assert reading.ttft is not None
    assert reading.ttft.count == 8
    assert reading.decision_rate == 4.0


def test_few_latencies_have_a_count_and_no_quantile(
    source: MetricsEndpoint, frontend: Frontend
) -> None:
    source.read(0.0)
    frontend.page.ttft = [0.05] * 4
    reading = source.read(1.0)
    assert reading.ttft is not None
    assert (reading.ttft.count, reading.ttft.p99) == (4, None)


def test_a_quantile_above_the_highest_bound_is_marked(
    source: MetricsEndpoint, frontend: Frontend
) -> None:
    source.read(0.0)
    frontend.page.ttft = [60.0] * 10
    reading = source.read(1.0)
    assert reading.ttft is not None
    assert reading.ttft.p99 is not None
    assert reading.ttft.p99.in_last_bucket
    assert reading.ttft.p99.value_seconds == 10.0


def test_decode_workers_are_of_the_decode_pool_only_where_there_is_prefill() -> None:
    page = FrontendPage(workers={(1, "decode"): (0, 5), (2, "decode"): (0, 6)})
    pools = [
        worker.pool for worker in PageReader("dynamo_frontend").read(page.text()).workers or ()
    ]
    assert pools == ["aggregated", "aggregated"]
    page.workers[3, "prefill"] = (100, 0)
    pools = [
        worker.pool for worker in PageReader("dynamo_frontend").read(page.text()).workers or ()
    ]
    assert pools == ["decode", "decode", "prefill"]


def test_kv_blocks_of_two_models_that_differ_are_nobodys() -> None:
    page = FrontendPage(workers={(1, "decode"): (0, 5)}, kv_blocks={"a": 10, "b": 20})
    workers = PageReader("dynamo_frontend").read(page.text()).workers
    assert workers is not None
    assert workers[0].kv_blocks is None


def test_a_frontend_with_another_prefix_is_read_with_that_prefix(frontend: Frontend) -> None:
    frontend.page = FrontendPage(prefix="nv_llm", workers={(1, "decode"): (8, 5)})
    with LoopbackServer(frontend.answer) as server:
        wrong = MetricsEndpoint(server.url, WINDOW_SECONDS)
        assert is_absent(wrong.read(0.0))
        assert "dynamo_frontend" in wrong.problem
        right = MetricsEndpoint(
            server.url, WINDOW_SECONDS, minimum_count=1, metrics_prefix="nv_llm"
        )
        right.read(0.0)
        frontend.page.ttft = [0.05] * 3
        reading = right.read(1.0)
        wrong.close()
        right.close()
    assert reading.ttft is not None
    assert reading.ttft.count == 3
    assert reading.workers is not None


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        ("status", "answers with status 503"),
        ("<html>hello</html>", "no metrics of a Dynamo frontend"),
        (
            "dynamo_frontend_disconnected_clients 0\n"
            'dynamo_frontend_router_queue_pending_requests{model="m} 1\n',
            "not Prometheus text",
        ),
    ],
)
def test_an_unusable_frontend_yields_nothing_and_says_why(
    source: MetricsEndpoint, frontend: Frontend, broken: str, told: str
) -> None:
    source.read(0.0)
    frontend.broken = broken
    assert is_absent(source.read(1.0))
    assert told in source.problem
    assert "\n" not in source.problem


def test_a_frontend_that_does_not_answer_is_waited_for_no_longer_than_asked(
    frontend: Frontend,
) -> None:
    frontend.broken = "silent"
    with LoopbackServer(frontend.answer) as server:
        endpoint = MetricsEndpoint(server.url, WINDOW_SECONDS, timeout_seconds=0.1)
        assert is_absent(endpoint.read(0.0))
        endpoint.close()
    assert "does not answer in time" in endpoint.problem


def test_an_outage_is_logged_once_retried_ever_more_slowly_and_its_end_is_logged(
    source: MetricsEndpoint, frontend: Frontend, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    frontend.broken = "status"
    for second in range(60):
        source.read(float(second))
    assert frontend.requests == 6  # at 0, 1, 3, 7, 15 and 31 seconds
    frontend.broken = None
    source.read(61.0)
    assert source.problem == ""
    assert [record.levelname for record in caplog.records if "frontend at" in record.message] == [
        "WARNING",
        "INFO",
    ]


def test_what_was_added_during_a_long_outage_is_of_no_window(
    source: MetricsEndpoint, frontend: Frontend
) -> None:
    source.read(0.0)
    frontend.page.ttft = [5.0] * 100
    assert source.read(11.0).ttft is None
    frontend.page.ttft += [0.05] * 10
    reading = source.read(12.0)
    assert reading.ttft is not None
    assert reading.ttft.count == 10


def test_a_frontend_that_does_not_exist_yet_is_found_later() -> None:
    frontend = Frontend()
    with LoopbackServer(frontend.answer) as server:
        url = server.url
    endpoint = MetricsEndpoint(url, WINDOW_SECONDS)
    assert is_absent(endpoint.read(0.0))
    assert "not to be reached" in endpoint.problem
    endpoint.close()


@pytest.mark.parametrize(
    "url", ["127.0.0.1:8000", "ftp://host", "http://", "http://[::1", "metrics"]
)
def test_a_url_that_cannot_be_one_is_refused_in_one_sentence(url: str) -> None:
    with pytest.raises(SignalError, match="write http://host:port") as refused:
        MetricsEndpoint(url, WINDOW_SECONDS)
    assert "\n" not in str(refused.value)


def test_a_password_in_the_url_is_not_told(frontend: Frontend) -> None:
    frontend.broken = "status"
    with LoopbackServer(frontend.answer) as server:
        endpoint = MetricsEndpoint(server.url.replace("//", "//user:hunter2@"), WINDOW_SECONDS)
        endpoint.read(0.0)
        endpoint.close()
    assert "503" in endpoint.problem
    assert "hunter2" not in endpoint.problem


@given(
    st.lists(
        st.tuples(
            st.floats(-1e9, 1e9) | st.just(math.nan),
            st.sampled_from(["dynamo_frontend_disconnected_clients 0\n"]),
            st.lists(
                st.sampled_from(FrontendPage(ttft=[1.0], decisions=3, queued=1).text().splitlines())
                | st.text(max_size=30),
                max_size=30,
            ),
        ),
        max_size=6,
    )
)
def test_whatever_a_page_says_and_whatever_the_clock_does_reading_does_not_raise(
    pages: list[tuple[float, str, list[str]]],
) -> None:
    endpoint = MetricsEndpoint("http://127.0.0.1:9", WINDOW_SECONDS, minimum_count=1)
    texts = iter([marker + "\n".join(lines) for _, marker, lines in pages])
    endpoint._http.get = lambda *_: next(texts)  # type: ignore[method-assign]
    for time, _, _ in pages:
        reading = endpoint.read(time)
        for latency in (reading.ttft, reading.itl):
            if latency is not None and latency.p99 is not None:
                assert 0 <= latency.p99.value_seconds < math.inf
        assert reading.decision_rate is None or reading.decision_rate >= 0
    endpoint.close()
