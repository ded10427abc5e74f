"""Traces: requests with times and prompts of their own, as columns."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamo_regime.errors import InputError


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line of a file that is not a request and was left out.

    Attributes:
        number: Its number, from 1.
        reason: What is wrong with it.
    """

    number: int
    reason: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Trace:
    """Requests to replay, as columns; n requests with m blocks in all.

    Attributes:
        arrival_seconds: When each is sent, shape (n,), in any order. The first defines time 0.
        input_tokens: Prompt tokens, shape (n,).
        output_tokens: Tokens to generate, shape (n,).
        blocks: Names of the prompts' blocks, shape (m,): equal names are equal tokens.
        block_offsets: Where each request's blocks begin, shape (n + 1,): request i has
            ``blocks[block_offsets[i]:block_offsets[i + 1]]``, at least ``input_tokens[i] /
            block_tokens`` of them.
        block_tokens: Tokens of a block.
        speed: Requests come this many times as fast as recorded.
        concurrency: Requests in flight, in place of the recorded times; None keeps the times.
        bad_lines: What could not be read of the file that it comes from.
    """

    arrival_seconds: NDArray[np.float64]
    input_tokens: NDArray[np.int64]
    output_tokens: NDArray[np.int64]
    blocks: NDArray[np.uint64]
    block_offsets: NDArray[np.int64]
    block_tokens: int
    speed: float = 1.0
    concurrency: int | None = None
    bad_lines: tuple[BadLine, ...] = ()

    def __post_init__(self) -> None:
        """Bring the columns to their types and check that they fit.

        Raises:
            InputError: They do not.
        """
        types = {
            "arrival_seconds": np.float64,
            "input_tokens": np.int64,
            "output_tokens": np.int64,
            "blocks": np.uint64,
            "block_offsets": np.int64,
        }
        for name, dtype in types.items():
            object.__setattr__(self, name, _column(name, getattr(self, name), dtype))
        requests, offsets = len(self), self.block_offsets
        if requests == 0:
            raise InputError("a trace has no request")
        for name in ("input_tokens", "output_tokens"):
            size = getattr(self, name).size
            if size != requests:
                raise InputError(f"a trace has {requests} arrival_seconds but {size} {name}")
        if offsets.size != requests + 1:
            raise InputError(
                f"a trace of {requests} requests needs {requests + 1} block_offsets,"
                f" but has {offsets.size}"
            )
        if offsets[0] != 0 or offsets[-1] != self.blocks.size or np.any(np.diff(offsets) < 0):
            raise InputError(
                f"block_offsets must rise from 0 to the number of blocks, {self.blocks.size}"
            )
        if self.block_tokens < 1:
            raise InputError(f"block_tokens is {self.block_tokens}: it must be at least 1")
        if not (np.isfinite(self.speed) and self.speed > 0):
            raise InputError(f"speed is {self.speed}: it must be finite and above 0")
        if self.concurrency is not None and self.concurrency < 1:
            raise InputError(f"concurrency is {self.concurrency}: it must be at least 1")
        self._refuse(
            ~(np.isfinite(self.arrival_seconds) & (self.arrival_seconds >= 0)),
            "has no finite arrival time, 0 or later",
        )
        self._refuse(self.input_tokens < 1, "has no input token")
        self._refuse(self.output_tokens < 1, "has no output token")
        self._refuse(
            np.diff(offsets) < -(-self.input_tokens // self.block_tokens),
            f"has fewer blocks of {self.block_tokens} tokens than its prompt fills",
        )

    def _refuse(self, wrong: NDArray[np.bool_], problem: str) -> None:
        if wrong.any():
            raise InputError(f"request {int(wrong.argmax())} of a trace {problem}")

    def __len__(self) -> int:
        """Number of requests."""
        return self.arrival_seconds.size

    def __repr__(self) -> str:
        """The size only."""
        return f"Trace(requests={len(self)}, speed={self.speed}, concurrency={self.concurrency})"

    def columns(
        self,
    ) -> tuple[
        NDArray[np.float64],
        NDArray[np.int64],
        NDArray[np.int64],
        NDArray[np.uint64],
        NDArray[np.int64],
    ]:
        """Arrivals, prompt tokens, output tokens, blocks and offsets, each contiguous."""
        return (
            self.arrival_seconds,
            self.input_tokens,
            self.output_tokens,
            self.blocks,
            self.block_offsets,
        )

    def slice(self, start: int, stop: int) -> Self:
        """The requests from ``start`` to ``stop``, as Python counts, with their recorded times.

        Raises:
            InputError: There is none between them.
        """
        rows = range(len(self))[start:stop]
        begin = rows.start
        end = max(rows.stop, begin)
        first, last = self.block_offsets[begin], self.block_offsets[end]
        return replace(
            self,
            arrival_seconds=self.arrival_seconds[begin:end],
            input_tokens=self.input_tokens[begin:end],
            output_tokens=self.output_tokens[begin:end],
            blocks=self.blocks[first:last],
            block_offsets=self.block_offsets[begin : end + 1] - first,
        )


def _column(name: str, values: ArrayLike, dtype: type) -> NDArray[Any]:
    try:
        column: NDArray[Any] = np.ascontiguousarray(values, dtype=dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name} of a trace is no column of numbers: {error}") from None
    if column.ndim != 1:
        raise InputError(f"{name} of a trace has shape {column.shape}: it must have one axis")
    return column
