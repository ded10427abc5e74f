from typing import Any

import numpy as np
import pytest

from dynamo_regime.errors import InputError
from dynamo_regime.sim import BadLine, Trace


def _trace(**columns: Any) -> Trace:
    whole: dict[str, Any] = {
        "arrival_seconds": [0.0, 1.5, 2.0],
        "input_tokens": [64, 100, 1],
        "output_tokens": [1, 2, 3],
        "blocks": [7, 7, 8, 9],
        "block_offsets": [0, 1, 3, 4],
        "block_tokens": 64,
        "bad_lines": (BadLine(4, "is not JSON"),),
    }
    return Trace(**whole | columns)


def test_columns_are_brought_to_their_types() -> None:
    trace = _trace(input_tokens=np.array([64, 100, 1], dtype=np.int32)[::1])
    assert [column.dtype.str for column in trace.columns()] == ["<f8", "<i8", "<i8", "<u8", "<i8"]
    assert all(column.flags.c_contiguous for column in trace.columns())
    assert len(trace) == 3


def test_a_slice_has_the_blocks_of_its_requests_and_their_recorded_times() -> None:
    part = _trace(speed=2.0).slice(1, 3)
    assert part.arrival_seconds.tolist() == [1.5, 2.0]
    assert part.blocks.tolist() == [7, 8, 9]
    assert part.block_offsets.tolist() == [0, 2, 3]
    assert (part.speed, part.bad_lines) == (2.0, (BadLine(4, "is not JSON"),))


def test_slices_add_up_to_the_whole() -> None:
    trace = _trace()
    parts = [trace.slice(0, 1), trace.slice(1, 10)]
    for name in ("arrival_seconds", "input_tokens", "output_tokens", "blocks"):
        joined = np.concatenate([getattr(part, name) for part in parts])
        np.testing.assert_array_equal(joined, getattr(trace, name))


def test_a_slice_without_a_request_is_refused() -> None:
    with pytest.raises(InputError, match="a trace has no request"):
        _trace().slice(3, 3)


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ({"arrival_seconds": [0.0, np.nan, 1.0]}, "request 1 of a trace has no finite arrival"),
        ({"arrival_seconds": [0.0, 1.0, -1.0]}, "request 2 of a trace has no finite arrival"),
        ({"input_tokens": [0, 100, 1]}, "request 0 of a trace has no input token"),
        ({"output_tokens": [1, 2, 0]}, "request 2 of a trace has no output token"),
        ({"input_tokens": [65, 100, 1]}, "request 0 of a trace has fewer blocks of 64 tokens"),
        ({"input_tokens": [64]}, "has 3 arrival_seconds but 1 input_tokens"),
        ({"block_offsets": [0, 1, 4]}, "a trace of 3 requests needs 4 block_offsets, but has 3"),
        ({"block_offsets": [0, 3, 1, 4]}, "must rise from 0 to the number of blocks, 4"),
        ({"block_offsets": [0, 1, 3, 5]}, "must rise from 0 to the number of blocks, 4"),
        ({"blocks": ["a", "b", "c", "d"]}, "blocks of a trace is no column of numbers"),
        ({"arrival_seconds": [[0.0, 1.0, 2.0]]}, r"has shape \(1, 3\): it must have one axis"),
        ({"block_tokens": 0}, "block_tokens is 0: it must be at least 1"),
        ({"speed": 0.0}, "speed is 0.0: it must be finite and above 0"),
        ({"concurrency": 0}, "concurrency is 0: it must be at least 1"),
    ],
)
def test_columns_that_are_no_trace_are_refused_with_the_place(
    columns: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(InputError, match=sentence):
        _trace(**columns)
