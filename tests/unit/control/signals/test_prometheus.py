"""Readings from a server that answers as Prometheus does."""

import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dynamo_regime.control.reading import Quantile, Reading, WorkerLoad
from dynamo_regime.control.signals.prometheus import Prometheus
from dynamo_regime.control.signals.source import SignalError
from tests.unit.control.signals.loopback_server import LoopbackServer

WINDOW_SECONDS = 30.0
TTFT = "dynamo_frontend_time_to_first_token_seconds_bucket"
PREFILL = "dynamo_frontend_worker_active_prefill_tokens"
DECODE = "dynamo_frontend_worker_active_decode_blocks"
DECISIONS = "dynamo_frontend_router_admission_received_total"
CHOSEN = "dynamo_component_router_kv_selected_cached_prefix_tokens_total"
BEST = "dynamo_component_router_kv_best_eligible_cached_prefix_tokens_total"
PROMPT = "dynamo_component_router_input_sequence_tokens_sum"

Series = list[tuple[dict[str, str], float]]


class FakePrometheus:
    """Answers a query with the series set for the metric that it names."""

    def __init__(self) -> None:
        self.queries: list[str] = []
        self.series: dict[str, Series] = {}
        self.answer: Callable[[], tuple[int, str]] | None = None

    def __call__(self, path: str, query: dict[str, str]) -> tuple[int, str]:
        assert path == "/api/v1/query"
        self.queries.append(query["query"])
        if self.answer is not None:
            return self.answer()
        series = next((s for metric, s in self.series.items() if metric in query["query"]), [])
        result = [
            {"metric": labels, "value": [1764550000.1, str(value).replace("inf", "+Inf")]}
            for labels, value in series
        ]
        data = {"resultType": "vector", "result": result}
        return 200, json.dumps({"status": "success", "data": data})

    def query(self, metric: str) -> str:
        """The one query that names ``metric``."""
        (found,) = [query for query in self.queries if metric in query]
        return found


@pytest.fixture
def server() -> FakePrometheus:
    return FakePrometheus()


@pytest.fixture
def source(server: FakePrometheus) -> Iterator[Callable[..., Prometheus]]:
    sources = []
    with LoopbackServer(server) as loopback:

        def make(environment: dict[str, str] | None = None, **options: object) -> Prometheus:
            options = {"minimum_count": 5, "timeout_seconds": 30.0} | options
            sources.append(
                Prometheus(loopback.url, WINDOW_SECONDS, environment or {}, **options)  # type: ignore[arg-type]
            )
            return sources[-1]

        make.loopback = loopback  # type: ignore[attr-defined]
        yield make
        for one in sources:
            one.close()


def test_buckets_are_added_up_over_frontends_before_the_quantile_is_taken(
    source: Callable[..., Prometheus], server: FakePrometheus
) -> None:
    server.series[TTFT] = [({"le": "+Inf"}, 40.0), ({"le": "0.5"}, 20.0), ({"le": "1"}, 40.0)]
    reading = source().read(7.0)
    assert server.query(TTFT) == f"sum by (le) (increase({TTFT}{{}}[30000ms]))"
    assert reading.ttft is not None
    assert reading.ttft.count == 40
    assert reading.ttft.p50 == Quantile(0.5)
    assert (reading.time, reading.window) == (7.0, WINDOW_SECONDS)


def test_rates_shares_queue_and_loads_are_read(
    source: Callable[..., Prometheus], server: FakePrometheus
) -> None:
    worker = {"worker_id": "7", "dp_rank": "1", "worker_type": "prefill"}
    server.series = {
        DECISIONS: [({}, 600.0)],
        CHOSEN: [({}, 1000.0)],
        BEST: [({}, 3000.0)],
        PROMPT: [({}, 4000.0)],
        "router_queue_pending_requests": [({}, 12.0)],
        PREFILL: [(worker, 2048.0)],
        DECODE: [(worker, 3.0)],
        "model_total_kv_blocks": [({"model": "m"}, 1024.0)],
    }
    reading = source().read(0.0)
    assert reading.decision_rate == 20.0
    assert (reading.overlap_chosen, reading.overlap_best) == (0.25, 0.75)
    assert reading.queue_length == 12.0
    assert reading.workers == (
        WorkerLoad(7, 1, prefill_tokens=2048, decode_blocks=3, pool="prefill", kv_blocks=1024),
    )


@pytest.mark.parametrize(("shared", "operator"), [(False, "sum"), (True, "max")])
def test_frontends_that_see_the_whole_load_are_not_added_up(
    source: Callable[..., Prometheus], server: FakePrometheus, shared: bool, operator: str
) -> None:
    source(loads_are_shared=shared).read(0.0)
    assert (
        server.query(PREFILL) == f"{operator} by (worker_id, dp_rank, worker_type) ({PREFILL}{{}})"
    )


def test_matchers_are_in_every_query_with_their_values_quoted(
    source: Callable[..., Prometheus], server: FakePrometheus
) -> None:
    source(matchers={"namespace": 'a"b\\c'}).read(0.0)
    assert all('{namespace="a\\"b\\\\c"' in query for query in server.queries)


def test_the_decode_pools_prompts_do_not_dilute_the_cache_share(
    source: Callable[..., Prometheus], server: FakePrometheus
) -> None:
    source().read(0.0)
    assert all('phase!="decode"' in server.query(metric) for metric in (CHOSEN, BEST, PROMPT))


def test_what_the_server_does_not_have_is_absent(source: Callable[..., Prometheus]) -> None:
    prometheus = source()
    assert prometheus.read(1.0) == Reading(1.0, WINDOW_SECONDS)
    assert prometheus.problem == ""


@pytest.mark.parametrize("value", [math.nan, math.inf, -1.0])
def test_numbers_that_cannot_be_are_absent(
    source: Callable[..., Prometheus], server: FakePrometheus, value: float
) -> None:
    server.series = {
        TTFT: [({"le": "0.5"}, value), ({"le": "+Inf"}, 40.0)],
        DECISIONS: [({}, value)],
        PREFILL: [({"worker_id": "7", "dp_rank": "0", "worker_type": "decode"}, value)],
        "router_queue_pending_requests": [({}, value)],
    }
    assert source().read(1.0) == Reading(1.0, WINDOW_SECONDS)


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (401, "no"),
        (422, '{"status": "error", "errorType": "bad_data", "error": "parse error"}'),
        (200, '{"status": "error"}'),
        (200, "<html>"),
        (200, "[]"),
        (200, "null"),
        (200, '{"status": "success", "data": {"result": [{"metric": 3, "value": [0, "1"]}]}}'),
        (200, '{"status": "success", "data": {"result": [{"metric": {}, "value": [0]}]}}'),
        (200, '{"status": "success", "data": {"result": [{"metric": {}, "value": [0, "x"]}]}}'),
    ],
)
def test_a_server_that_answers_otherwise_yields_nothing_and_says_why(
    source: Callable[..., Prometheus], server: FakePrometheus, status: int, text: str
) -> None:
    server.answer = lambda: (status, text)
    prometheus = source()
    assert prometheus.read(1.0) == Reading(1.0, WINDOW_SECONDS)
    assert prometheus.problem
    assert "\n" not in prometheus.problem


def test_an_unreachable_server_is_asked_ever_less_often_and_used_when_it_comes(
    source: Callable[..., Prometheus], server: FakePrometheus, caplog: pytest.LogCaptureFixture
) -> None:
    server.answer = lambda: (503, "")
    server.series[DECISIONS] = [({}, 30.0)]
    prometheus = source()
    for second in range(120):
        prometheus.read(float(second))
    assert len(server.queries) == 8  # at 0, 1, 3, 7, 15, 31, 61 and 91 seconds
    assert len(caplog.records) == 1
    assert caplog.records[0].levelname == "WARNING"
    server.answer = None
    assert prometheus.read(121.0).decision_rate == 1.0
    assert prometheus.problem == ""


def test_the_token_of_the_environment_is_sent(source: Callable[..., Prometheus]) -> None:
    source({"DYNAMO_REGIME_PROMETHEUS_TOKEN": "s3cret"}).read(0.0)
    headers = source.loopback.headers  # type: ignore[attr-defined]
    assert headers[0]["Authorization"] == "Bearer s3cret"


@pytest.mark.parametrize("content", [None, "not a certificate"])
def test_an_authority_that_is_none_is_refused_in_one_sentence(
    tmp_path: Path, content: str | None
) -> None:
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_text(content)
    with pytest.raises(SignalError, match=r"ca\.pem") as refused:
        Prometheus("https://host", 30.0, {"DYNAMO_REGIME_PROMETHEUS_CA": str(path)})
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("window_seconds", [0.0, -1.0, math.nan, math.inf])
def test_a_window_that_is_none_is_refused(window_seconds: float) -> None:
    with pytest.raises(SignalError, match="window"):
        Prometheus("http://host", window_seconds, {})
