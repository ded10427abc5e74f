import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from dynamo_regime.errors import InputError
from dynamo_regime.sim.workload.files import read_trace
from dynamo_regime.sim.workload.mooncake import conversation


def _row(**changes: Any) -> dict[str, Any]:
    row = {"timestamp": 1500, "input_length": 600, "output_length": 7, "hash_ids": [3, 4]}
    return row | changes


def test_lines_are_requests_in_seconds_with_their_blocks(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    rows = [_row(), _row(timestamp=2000, input_length=1, hash_ids=[3])]
    path.write_text("\n".join(map(json.dumps, rows)) + "\n\n")
    trace = read_trace(path)
    assert trace.arrival_seconds.tolist() == [1.5, 2.0]
    assert trace.input_tokens.tolist() == [600, 1]
    assert trace.output_tokens.tolist() == [7, 7]
    assert trace.blocks.tolist() == [3, 4, 3]
    assert trace.block_offsets.tolist() == [0, 2, 3]
    assert (trace.block_tokens, trace.bad_lines) == (512, ())


def test_the_carried_trace_is_the_published_beginning() -> None:
    trace = conversation()
    assert len(trace) == 3000
    assert trace.bad_lines == ()
    # The first line of the published file.
    assert (trace.arrival_seconds[0], trace.input_tokens[0], trace.output_tokens[0]) == (
        0.0,
        6758,
        500,
    )
    assert trace.blocks[:14].tolist() == list(range(14))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "is not JSON"),
        ("[1]", "is not a JSON object"),
        (json.dumps(_row(timestamp=None)), "timestamp is None: it must be 0 or more milliseconds"),
        (json.dumps(_row(timestamp=-1)), "timestamp is -1"),
        ('{"timestamp": NaN, "input_length": 1}', "timestamp is nan"),
        (json.dumps(_row(input_length=0)), "input_length is 0: it must be at least 1 token"),
        (json.dumps(_row(output_length=True)), "output_length is True"),
        (json.dumps(_row(hash_ids="3")), "hash_ids is not a list of integers"),
        (json.dumps(_row(hash_ids=[3])), "has 1 hash_ids of 512 tokens for 600 input tokens"),
        (json.dumps(_row(hash_ids=[3, -4])), "hash_ids must be from 0 to 2**64 - 1"),
    ],
)
def test_a_bad_line_is_left_out_and_reported(tmp_path: Path, line: str, reason: str) -> None:
    path = tmp_path / "trace.jsonl.gz"
    path.write_bytes(gzip.compress(f"{json.dumps(_row())}\n{line}\n{json.dumps(_row())}".encode()))
    trace = read_trace(path)
    assert len(trace) == 2
    assert trace.blocks.tolist() == [3, 4, 3, 4]
    [bad] = trace.bad_lines
    assert bad.number == 2
    assert reason in bad.reason


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "cannot be read .*: name a trace"),
        (b"", "is of no known trace"),
        (b"TIMESTAMP,ContextTokens\n", "is of no known trace: use .* GeneratedTokens"),
        (b"{", "has no request in Mooncake's format; line 1: is not JSON"),
    ],
)
def test_a_file_without_a_request_is_refused(
    tmp_path: Path, content: bytes | None, sentence: str
) -> None:
    path = tmp_path / "trace.jsonl"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=sentence):
        read_trace(path)


def test_a_gz_file_that_is_none_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "trace.gz"
    path.write_bytes(b"no gzip")
    with pytest.raises(InputError, match="cannot be read"):
        read_trace(path)
