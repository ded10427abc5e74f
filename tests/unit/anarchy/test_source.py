"""Requests from files, recordings and simulations."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dynamo_regime.anarchy.source import of_outcome, read_requests
from dynamo_regime.errors import InputError
from dynamo_regime.sim import ClosedLoop, Cluster, Phase, RouterSettings, Simulation, simulate

HEADER = "request,worker,start,latency,prompt_blocks,cached_blocks\n"


def written(folder: Path, text: str, name: str = "requests.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def event(worker: int, decoder: int, **changes: Any) -> str:
    request: dict[str, Any] = {
        "request_received_ms": 1_000,
        "ttft_ms": 200.0,
        "total_time_ms": 700.0,
        "cached_tokens": 96,
        "worker": {"prefill_worker_id": worker, "decode_worker_id": decoder},
        "replay": {
            "trace_block_size": 64,
            "input_length": 150,
            "input_sequence_hashes": [1, 2, 3],
        },
    }
    return json.dumps({"event": {"event_type": "request_end", "request": request | changes}}) + "\n"


def test_csv_and_json_lines_of_the_same_requests_are_the_same(tmp_path: Path) -> None:
    csv = read_requests(written(tmp_path, HEADER + "r,b,0.5,1.5,10,4\ns,a,0.25,2,3,0\n"))
    rows = (
        {"request": 1, "worker": "b", "start": 0.5, "latency": 1.5}
        | {"prompt_blocks": 10, "cached_blocks": 4},
        {"request": 2, "worker": "a", "start": 0.25, "latency": 2}
        | {"prompt_blocks": 3, "cached_blocks": 0},
    )
    lines = read_requests(
        written(tmp_path, "".join(json.dumps(row) + "\n" for row in rows), "r.jsonl")
    )
    for each in (csv, lines):
        assert each.worker.tolist() == [1, 0]
        assert each.start_seconds.tolist() == [0.5, 0.25]
        assert each.latency_seconds.tolist() == [1.5, 2.0]
        assert each.cached_blocks.tolist() == [4.0, 0.0]
        assert each.best_cached_blocks.tolist() == [10.0, 3.0]


def test_a_recording_is_read_by_pool_and_what_failed_is_left_out(tmp_path: Path) -> None:
    written(tmp_path, event(7, 7) + event(7, 7, total_time_ms=None), "a.jsonl")
    written(tmp_path, event(8, 9), "b.jsonl")
    prefill = read_requests(tmp_path)
    assert (len(prefill), prefill.workers) == (2, 2)
    assert prefill.latency_seconds.tolist() == [0.2, 0.2]
    assert prefill.cached_blocks.tolist() == [1.5, 1.5]
    decode = read_requests(tmp_path, "decode")
    np.testing.assert_allclose(decode.start_seconds, [1.2, 1.2])
    np.testing.assert_allclose(decode.latency_seconds, [0.5, 0.5])
    assert decode.prompt_blocks.tolist() == [0.0, 0.0]
    (tmp_path / "b.jsonl").unlink()
    assert read_requests(tmp_path).latency_seconds.tolist() == [0.7]  # One worker does it all.


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("request,worker,start,latency,prompt_blocks\n", "the header has no column cached_blocks"),
        (HEADER + "r,a,0,1,2,0\ns,a,0,-1,2,0\n", "row 3: latency is '-1': it must be a number, 0"),
        (HEADER + "r,a,0,0,2,0\n", "row 2: latency is 0: it must be a number of seconds above 0"),
        (HEADER + "r,,0,1,2,0\n", "row 2 has no worker"),
        (HEADER + "r,a,soon,1,2,0\n", "row 2: start is 'soon': it must be a number"),
        (HEADER + "r,a,0,1,2,3\n", "row 2: cached_blocks is 3 and best_cached_blocks 2 of 2"),
        (HEADER, "has no complete request: there is nothing to judge"),
        ('{"request": 1}\n', "row 1 has no worker"),
        ('{"request": 1\n', "row 1 is no JSON object"),
    ],
)
def test_what_cannot_be_judged_is_refused_by_its_row(
    tmp_path: Path, text: str, sentence: str
) -> None:
    with pytest.raises(InputError, match=sentence):
        read_requests(written(tmp_path, text))


def test_in_a_simulation_the_loads_add_up_to_the_clients() -> None:
    load = ClosedLoop(phases=(Phase(concurrency=6, duration_seconds=20.0),))
    outcome = simulate(Simulation(Cluster.parse("2"), RouterSettings(), load))
    requests = of_outcome(outcome, "aggregated", 2, 64)
    assert requests.mean_load().max() <= 6 + 1e-9
    busy = requests.latency_seconds.sum() / (
        (requests.start_seconds + requests.latency_seconds).max() - requests.start_seconds.min()
    )
    assert busy == pytest.approx(6, rel=0.05)
