"""Measurements from files and from a Prometheus server."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from dynamo_regime.control.signals.http import HttpSource
from dynamo_regime.errors import InputError, RegimeError
from dynamo_regime.sim.measurements import ask_prometheus, read_measurements
from tests.unit.control.signals.loopback_server import Answer, LoopbackServer


def written(folder: Path, text: str) -> Path:
    path = folder / "measured"
    path.write_text(text)
    return path


def test_csv_and_json_lines_of_the_same_values_are_the_same(tmp_path: Path) -> None:
    csv = read_measurements(
        written(tmp_path, "worker, latency_seconds, concurrency\na,0.5,1\nb,0.75,2\n")
    )
    lines = read_measurements(
        written(
            tmp_path,
            '{"concurrency": 1, "latency_seconds": 0.5}\n\n'
            '{"concurrency": 2, "latency_seconds": 0.75, "worker": "b"}\n',
        )
    )
    for each in (csv, lines):
        np.testing.assert_array_equal(each.concurrency, [1, 2])
        np.testing.assert_array_equal(each.latency_seconds, [0.5, 0.75])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "has no column concurrency: it needs concurrency and latency_seconds"),
        ("concurrency,latency\n1,2\n", "the header has no column latency_seconds"),
        ("concurrency,latency_seconds\n", "has no measurement"),
        ("concurrency,latency_seconds\n1,0.1\n2,-3\n", "line 3: latency_seconds is '-3'"),
        ("concurrency,latency_seconds\n1\n", "line 2: latency_seconds is None"),
        ('{"concurrency": 1, "latency_seconds": 1}\nno\n', "line 2 is no JSON object"),
        ('{"concurrency": 1}\n', "line 1 has no column latency_seconds"),
    ],
)
def test_what_cannot_be_used_is_refused_by_its_line(
    tmp_path: Path, text: str, sentence: str
) -> None:
    with pytest.raises(InputError, match=sentence):
        read_measurements(written(tmp_path, text))


@contextmanager
def prometheus(answer: dict[str, dict[float, float]]) -> Iterator[HttpSource]:
    """A server that knows, by a part of the query that it is asked, values over time."""

    def respond(path: str, query: dict[str, str]) -> Answer:
        assert path == "/api/v1/query_range"
        values = next(values for part, values in answer.items() if part in query["query"])
        pairs = [[time, str(value)] for time, value in values.items()]
        return 200, json.dumps({"status": "success", "data": {"result": [{"values": pairs}]}})

    with LoopbackServer(respond) as server, HttpSource(server.url, 5.0) as http:
        yield http


def test_prometheus_tells_concurrency_and_latency_of_the_same_steps() -> None:
    answers = {
        "inflight_requests": {0.0: 4.0, 30.0: 8.0, 60.0: 16.0, 90.0: 2.0},
        "_sum": {0.0: 0.1, 30.0: 0.2, 60.0: float("nan"), 120.0: 9.0},
        "_count": {0.0: 100.0, 30.0: 20.0, 60.0: 0.0},
    }
    with prometheus(answers) as http:
        found = ask_prometheus(http, latency="ttft", since_seconds=120.0, now=120.0)
    np.testing.assert_array_equal(found.concurrency, [4, 8])
    np.testing.assert_array_equal(found.latency_seconds, [0.1, 0.2])


def test_a_server_that_saw_too_few_requests_says_nothing() -> None:
    answers = {"inflight_requests": {0.0: 4.0}, "_sum": {0.0: 0.1}, "_count": {0.0: 19.0}}
    with (
        prometheus(answers) as http,
        pytest.raises(InputError, match="knows of no 20 requests of a Dynamo frontend within 30 s"),
    ):
        ask_prometheus(http, latency="itl", since_seconds=60.0, now=60.0)


def test_a_server_that_is_none_is_named() -> None:
    with (
        LoopbackServer(lambda *_: (200, "[]")) as server,
        HttpSource(server.url, 5.0) as http,
        pytest.raises(RegimeError, match="answers with something else than Prometheus does"),
    ):
        ask_prometheus(http, latency="itl", since_seconds=60.0, now=60.0)
