"""The metrics that readings are made of are those that Dynamo's own frontend has."""

import json
import math
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import pytest

from dynamo_regime.control.reading import Reading
from dynamo_regime.control.signals.metrics_endpoint import MetricsEndpoint
from testbed.cluster import Cluster
from testbed.commands import FrontendCommand
from testbed.model import MODEL_NAME
from testbed.topology import Topology, WorkerModel

pytestmark = [pytest.mark.stock, pytest.mark.slow]

REQUESTS = 24
MODEL = WorkerModel(block_size=64, cache_blocks=1024)
PROMPT_TOKENS = 3 * MODEL.block_size


def ask(url: str) -> None:
    """One streamed request, with the same prompt every time."""
    prompt = [2] * PROMPT_TOKENS
    body = {"model": MODEL_NAME, "prompt": prompt, "max_tokens": 8, "stream": True}
    headers = {"content-type": "application/json"}
    request = urllib.request.Request(f"{url}/v1/completions", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        answer.read()


def read_around_requests(topology: str) -> Reading:
    """What is read of a cluster of mockers before and after some requests."""
    with Cluster(Topology.parse(topology), MODEL) as cluster:
        url = cluster.start(FrontendCommand.stock("kv")).url
        endpoint = MetricsEndpoint(url, 1e9, minimum_count=REQUESTS, timeout_seconds=30.0)
        endpoint.read(0.0)
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(ask, [url] * REQUESTS))
        reading = endpoint.read(1.0)
        endpoint.close()
    assert endpoint.problem == ""
    return reading


@pytest.mark.parametrize(
    ("topology", "pools", "decisions_per_request"),
    [("2", ["aggregated"] * 2, 1), ("1P2D", ["decode", "decode", "prefill"], 2)],
)
def test_all_but_the_prefill_speed_is_read_from_a_stock_frontend(
    topology: str, pools: list[str], decisions_per_request: int
) -> None:
    reading = read_around_requests(topology)
    assert reading.ttft is not None
    assert reading.ttft.count == REQUESTS
    assert reading.ttft.p99 is not None
    assert 0 < reading.ttft.p99.value_seconds < math.inf
    assert reading.itl is not None
    assert reading.itl.count > REQUESTS
    assert reading.decision_rate == REQUESTS * decisions_per_request
    assert reading.queue_length == 0
    assert reading.overlap_chosen is not None
    assert reading.overlap_best is not None
    assert 0 < reading.overlap_chosen <= reading.overlap_best <= 1
    assert sorted(worker.pool or "" for worker in reading.workers or ()) == pools
    assert all(worker.prefill_tokens is not None for worker in reading.workers or ())
    assert all(worker.kv_blocks == MODEL.cache_blocks for worker in reading.workers or ())
