"""Traces of Dynamo's own, as its sinks and ``record`` write them."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dynamo_regime.errors import InputError
from dynamo_regime.sim.workload.files import read_trace


def line(received_ms: int, hashes: list[int], *, prompt: int = 100, **changes: Any) -> str:
    request: dict[str, Any] = {
        "request_id": "r",
        "request_received_ms": received_ms,
        "output_tokens": 7,
        "replay": {
            "trace_block_size": 64,
            "input_length": prompt,
            "input_sequence_hashes": hashes,
        },
    }
    request |= changes
    event = {"schema": "dynamo.request.trace.v1", "event_type": "request_end", "request": request}
    return json.dumps({"timestamp": 1, "event": event}) + "\n"


TOOL = json.dumps(
    {"event": {"schema": "dynamo.request.trace.v1", "event_type": "tool_start", "tool": {}}}
)


def test_a_file_has_times_lengths_and_prompts(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    biggest = 2**64 - 1
    path.write_text(line(1_700_000_000_500, [1, biggest]) + line(1_700_000_000_000, [1], prompt=64))
    trace = read_trace(path)
    np.testing.assert_array_equal(trace.arrival_seconds, [0.5, 0.0])
    np.testing.assert_array_equal(trace.input_tokens, [100, 64])
    np.testing.assert_array_equal(trace.output_tokens, [7, 7])
    np.testing.assert_array_equal(trace.blocks, np.array([1, biggest, 1], np.uint64))
    np.testing.assert_array_equal(trace.block_offsets, [0, 2, 3])
    assert (trace.block_tokens, trace.bad_lines) == (64, ())


def test_a_folder_is_one_trace_and_other_events_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "requests-000002.jsonl").write_text(TOOL + "\n\n" + line(2_000, [3, 4]))
    with gzip.open(tmp_path / "requests-000001.jsonl.gz", "wt") as file:
        file.write(line(1_000, [1, 2]))
    trace = read_trace(tmp_path)
    np.testing.assert_array_equal(trace.arrival_seconds, [0.0, 1.0])
    np.testing.assert_array_equal(trace.blocks, [1, 2, 3, 4])
    assert trace.bad_lines == ()


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ("no json\n", "is not JSON"),
        ("[]\n", "is no event of a request trace"),
        (line(1, [1, 2], output_tokens=0), "is of a request that got no token"),
        (line(1, [1, 2], request_received_ms=None), "does not say when the request came"),
        (line(1, [1, 2], replay=None), "has no hashes of its prompt"),
        (line(1, [1]), "has 1 hashes of 64 tokens for 100 input tokens"),
        (line(1, [1, -2]), "has input_sequence_hashes that are no list of integers"),
        (
            line(
                1,
                [1],
                replay={
                    "trace_block_size": 128,
                    "input_length": 100,
                    "input_sequence_hashes": [1],
                },
            ),
            "has blocks of 128 tokens, those before 64",
        ),
    ],
)
def test_a_line_that_cannot_be_replayed_is_left_out_and_named(
    tmp_path: Path, wrong: str, reason: str
) -> None:
    (tmp_path / "a.jsonl").write_text(line(1_000, [1, 2]) + wrong + line(3_000, [1, 2]))
    trace = read_trace(tmp_path)
    assert len(trace) == 2
    [bad] = trace.bad_lines
    assert bad.number == 2
    assert bad.reason.startswith(f"of a.jsonl {reason}")


def test_without_a_request_the_first_bad_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text(line(1_000, [1], output_tokens=0))
    with pytest.raises(InputError, match=r"line 1: is of a request that got no token"):
        read_trace(path)


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds no file \*\.jsonl"):
        read_trace(tmp_path)
