"""Traces in Mooncake's format: one JSON object a line."""

import gzip
import json
from array import array
from collections.abc import Iterable
from importlib import resources

import numpy as np

from dynamo_regime.errors import InputError
from dynamo_regime.sim.workload.trace import BadLine, Trace

BLOCK_TOKENS = 512
"""Tokens of a block in the traces that Mooncake published."""


def conversation() -> Trace:
    """The first 3,000 requests of Mooncake's conversation trace, which come with the package.

    Source and licence are in ``data/README.md``.
    """
    data = resources.files("dynamo_regime.sim.workload") / "data" / "conversation_3000.jsonl.gz"
    with data.open("rb") as file, gzip.GzipFile(fileobj=file) as lines:
        return read_mooncake(lines, data.name)


def read_mooncake(lines: Iterable[bytes], place: str, block_tokens: int = BLOCK_TOKENS) -> Trace:
    """Read ``timestamp`` (ms), ``input_length``, ``output_length`` and ``hash_ids`` of every line.

    Lines that are not requests are left out and reported in ``bad_lines``.

    Args:
        lines: Of the file.
        place: Its name, for messages.
        block_tokens: Tokens that one of the ``hash_ids`` stands for.

    Raises:
        InputError: There is no request.
    """
    arrivals, inputs, outputs = array("d"), array("q"), array("q")
    blocks, offsets = array("Q"), array("q", [0])
    bad_lines = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            milliseconds, prompt, answer, names = _request(json.loads(line), block_tokens)
        except (json.JSONDecodeError, UnicodeDecodeError):
            bad_lines.append(BadLine(number, "is not JSON"))
            continue
        except ValueError as error:
            bad_lines.append(BadLine(number, str(error)))
            continue
        blocks.extend(names)
        arrivals.append(milliseconds / 1e3)
        inputs.append(prompt)
        outputs.append(answer)
        offsets.append(len(blocks))
    if not arrivals:
        first = f"; line {bad_lines[0].number}: {bad_lines[0].reason}" if bad_lines else ""
        raise InputError(f"{place} has no request in Mooncake's format{first}")
    return Trace(
        arrival_seconds=np.frombuffer(arrivals, np.float64),
        input_tokens=np.frombuffer(inputs, np.int64),
        output_tokens=np.frombuffer(outputs, np.int64),
        blocks=np.frombuffer(blocks, np.uint64),
        block_offsets=np.frombuffer(offsets, np.int64),
        block_tokens=block_tokens,
        bad_lines=tuple(bad_lines),
    )


def _request(row: object, block_tokens: int) -> tuple[float, int, int, list[int]]:
    if not isinstance(row, dict):
        raise ValueError("is not a JSON object")
    milliseconds = row.get("timestamp")
    if not isinstance(milliseconds, int | float) or not 0 <= milliseconds < float("inf"):
        raise ValueError(f"timestamp is {milliseconds!r}: it must be 0 or more milliseconds")
    names = row.get("hash_ids")
    if not isinstance(names, list) or not all(isinstance(each, int) for each in names):
        raise ValueError("hash_ids is not a list of integers")
    if names and not 0 <= min(names) <= max(names) < 2**64:
        raise ValueError("hash_ids must be from 0 to 2**64 - 1")
    lengths = []
    for key in ("input_length", "output_length"):
        length = row.get(key)
        if not isinstance(length, int) or isinstance(length, bool) or length < 1:
            raise ValueError(f"{key} is {length!r}: it must be at least 1 token")
        lengths.append(length)
    prompt, answer = lengths
    if len(names) * block_tokens < prompt:
        raise ValueError(
            f"has {len(names)} hash_ids of {block_tokens} tokens for {prompt} input tokens"
        )
    return float(milliseconds), prompt, answer, names
