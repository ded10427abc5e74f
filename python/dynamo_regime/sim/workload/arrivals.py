"""Requests that arrive by themselves, whatever the cluster can do: Poisson, Gamma, step, ramp."""

from typing import Annotated, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from dynamo_regime.control.checked import Checked, NonNegative, Positive
from dynamo_regime.sim.workload.trace import Trace

_BLOCK_TOKENS = 64
_MOST_REQUESTS = 10_000_000
_Count = Annotated[int, Field(ge=1, lt=2**32)]


class Stage(Checked):
    """A time in which the rate is steady or rises or falls evenly; several make steps and ramps.

    Attributes:
        duration_seconds: How long it lasts.
        rate_per_second: Requests that arrive in a second, at its beginning.
        end_rate_per_second: The same at its end; as at its beginning if left out.
    """

    duration_seconds: Positive
    rate_per_second: NonNegative
    end_rate_per_second: NonNegative | None = None


class Arrivals(Checked):
    """Requests at the times of a renewal process whose rate is that of the stages.

    Gaps between requests are Gamma distributed on the clock on which the rate is 1, so that a
    coefficient of variation of 1 is a Poisson process, also where the rate changes.

    Attributes:
        stages: One after the other.
        gap_variation: Standard deviation of the gaps over their mean: 1 is Poisson, more is bursty.
        lengths: Whether tokens are the mean for all, or exponential with this mean.
        input_tokens: Mean prompt tokens after the prefix.
        output_tokens: Mean tokens of an answer.
        prefixes: Shared prefixes, such as system prompts.
        zipf_exponent: The k-th prefix is drawn with probability ∝ 1/k^s; 0 draws all alike.
        prefix_tokens: Tokens of a prefix, rounded up to whole blocks of 64.
        seed: Of all draws, so that every policy and every seed of a study gets the same requests.
    """

    stages: Annotated[tuple[Stage, ...], Field(min_length=1)]
    gap_variation: Annotated[float, Field(ge=0.05, le=20.0)] = 1.0
    lengths: Literal["fixed", "exponential"] = "exponential"
    input_tokens: Positive = 256.0
    output_tokens: Positive = 128.0
    prefixes: _Count = 32
    zipf_exponent: NonNegative = 1.0
    prefix_tokens: Annotated[int, Field(ge=0, lt=2**32)] = 0
    seed: Annotated[int, Field(ge=0, lt=2**64)] = 0

    @model_validator(mode="after")
    def _some_but_not_too_many(self) -> Self:
        expected = float(self._expected()[-1])
        if not 1 <= expected <= _MOST_REQUESTS:
            raise ValueError(
                f"the stages make {expected:g} requests: there must be 1 to {_MOST_REQUESTS}"
            )
        return self

    def trace(self) -> Trace:
        """The requests, drawn from the seed."""
        rng = np.random.default_rng(self.seed)
        times = self._times(rng)
        prefix_blocks = -(-self.prefix_tokens // _BLOCK_TOKENS)
        own_tokens = self._tokens(self.input_tokens, times.size, rng)
        ranks = np.arange(1, self.prefixes + 1, dtype=np.float64)
        weights = ranks**-self.zipf_exponent
        prefix = rng.choice(self.prefixes, times.size, p=weights / weights.sum())
        own_blocks = -(-own_tokens // _BLOCK_TOKENS)
        counts = prefix_blocks + own_blocks
        offsets = np.concatenate(([0], counts.cumsum()))
        # Names: those of the prefixes first, then each request's own.
        place = np.arange(offsets[-1]) - np.repeat(offsets[:-1], counts)
        own_begin = self.prefixes * prefix_blocks + own_blocks.cumsum() - own_blocks
        blocks = np.where(
            place < prefix_blocks,
            np.repeat(prefix * prefix_blocks, counts) + place,
            np.repeat(own_begin, counts) + place - prefix_blocks,
        )
        return Trace(
            arrival_seconds=times,
            input_tokens=prefix_blocks * _BLOCK_TOKENS + own_tokens,
            output_tokens=self._tokens(self.output_tokens, times.size, rng),
            blocks=blocks.astype(np.uint64),
            block_offsets=offsets,
            block_tokens=_BLOCK_TOKENS,
        )

    def _columns(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Duration and rate at the beginning and at the end, of each stage."""
        begin = np.array([stage.rate_per_second for stage in self.stages])
        end = np.array(
            [
                stage.rate_per_second
                if stage.end_rate_per_second is None
                else stage.end_rate_per_second
                for stage in self.stages
            ]
        )
        return np.array([stage.duration_seconds for stage in self.stages]), begin, end

    def _expected(self) -> NDArray[np.float64]:
        """Requests expected until the beginning of each stage, and until the end of the last."""
        duration, begin, end = self._columns()
        return np.concatenate(([0.0], np.cumsum(duration * (begin + end) / 2.0)))

    def _times(self, rng: np.random.Generator) -> NDArray[np.float64]:
        duration, begin, end = self._columns()
        edges = self._expected()
        shape = self.gap_variation**-2
        points = np.zeros(0)
        while points.size == 0 or points[-1] < edges[-1]:
            gaps = rng.gamma(shape, 1.0 / shape, int(edges[-1]) + 64)
            points = np.concatenate((points, gaps.cumsum() + (points[-1] if points.size else 0.0)))
        # A first gap that outlasts the stages would leave no request: then there is one, at 0.
        points = points[points < edges[-1]] if points[0] < edges[-1] else np.zeros(1)
        stage = np.searchsorted(edges, points, side="right") - 1
        into = points - edges[stage]
        low, slope = begin[stage], (end - begin)[stage] / duration[stage]
        # The root of low·t + slope·t²/2 = into, in the form that does not cancel.
        bottom = low + np.sqrt(np.maximum(low**2 + 2.0 * slope * into, 0.0))
        inside = np.divide(2.0 * into, bottom, out=np.zeros_like(into), where=bottom > 0)
        begins = np.concatenate(([0.0], duration.cumsum()))
        return np.asarray(begins[stage] + inside)

    def _tokens(self, mean: float, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        drawn = np.full(size, mean) if self.lengths == "fixed" else rng.exponential(mean, size)
        return np.maximum(np.ceil(drawn), 1).astype(np.int64)
