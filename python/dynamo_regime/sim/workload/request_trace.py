"""Dynamo's request traces: JSON lines with a ``request_end`` for every request."""

import json
from array import array
from collections.abc import Iterable
from typing import Any, TypeGuard

import numpy as np

from dynamo_regime.errors import InputError
from dynamo_regime.sim.workload.trace import BadLine, Trace

SCHEMA = "dynamo.request.trace.v1"


def is_request_trace(line: bytes) -> bool:
    """Whether this is a line of such a file."""
    try:
        return _event(json.loads(line)).get("schema") == SCHEMA
    except ValueError:
        return False


def read_request_trace(files: Iterable[tuple[str, Iterable[bytes]]], place: str) -> Trace:
    """Read the files that Dynamo's sinks or ``dynamo-regime record`` wrote, as one trace.

    Other events than the end of a request are passed over. Lines that cannot be replayed (of a
    request that failed before its first token, say) are left out and reported in ``bad_lines``.

    Args:
        files: Name, for messages, and lines of each.
        place: Name of the whole.

    Raises:
        InputError: There is no request.
    """
    arrivals, inputs, outputs = array("d"), array("q"), array("q")
    blocks, offsets = array("Q"), array("q", [0])
    bad_lines = []
    block_tokens: int | None = None
    for name, lines in files:
        where = "" if name == place else f"of {name} "
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                event = _event(json.loads(line))
                if event.get("event_type") != "request_end":
                    continue
                milliseconds, prompt, answer, size, hashes = _request(event.get("request"))
                if block_tokens not in (None, size):
                    raise ValueError(f"has blocks of {size} tokens, those before {block_tokens}")
                blocks.extend(hashes)
            except (json.JSONDecodeError, UnicodeDecodeError):
                bad_lines.append(BadLine(number, f"{where}is not JSON"))
                continue
            except (ValueError, OverflowError) as error:
                bad_lines.append(BadLine(number, f"{where}{error}"))
                continue
            block_tokens = size
            arrivals.append(milliseconds / 1e3)
            inputs.append(prompt)
            outputs.append(answer)
            offsets.append(len(blocks))
    if block_tokens is None:
        first = f"; line {bad_lines[0].number}: {bad_lines[0].reason}" if bad_lines else ""
        raise InputError(f"{place} has no request that can be replayed{first}")
    times = np.frombuffer(arrivals, np.float64)
    return Trace(
        arrival_seconds=times - times.min(),
        input_tokens=np.frombuffer(inputs, np.int64),
        output_tokens=np.frombuffer(outputs, np.int64),
        blocks=np.frombuffer(blocks, np.uint64),
        block_offsets=np.frombuffer(offsets, np.int64),
        block_tokens=block_tokens,
        bad_lines=tuple(bad_lines),
    )


def _event(row: object) -> dict[str, Any]:
    # Dynamo's sinks wrap every event, with the time since they began.
    event = row.get("event", row) if isinstance(row, dict) else None
    if not isinstance(event, dict):
        raise ValueError("is no event of a request trace")
    return event


def _request(request: object) -> tuple[float, int, int, int, list[int]]:
    if not isinstance(request, dict):
        raise ValueError("has no request")
    milliseconds = request.get("request_received_ms")
    if not _is_count(milliseconds):
        raise ValueError("does not say when the request came (request_received_ms)")
    answer = request.get("output_tokens")
    if not _is_count(answer) or answer < 1:
        raise ValueError("is of a request that got no token")
    replay = request.get("replay")
    if not isinstance(replay, dict):
        raise ValueError("has no hashes of its prompt (replay)")
    size, prompt = replay.get("trace_block_size"), replay.get("input_length")
    hashes = replay.get("input_sequence_hashes")
    if not (_is_count(size) and _is_count(prompt) and min(size, prompt) >= 1):
        raise ValueError("has no trace_block_size and input_length of at least 1")
    if not isinstance(hashes, list) or not all(_is_count(each) for each in hashes):
        raise ValueError("has input_sequence_hashes that are no list of integers")
    if len(hashes) != -(-prompt // size):
        raise ValueError(f"has {len(hashes)} hashes of {size} tokens for {prompt} input tokens")
    return float(milliseconds), prompt, answer, size, hashes


def _is_count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**64
