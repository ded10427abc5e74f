"""What came of a simulation."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dynamo_regime.control.events import Event
from dynamo_regime.target import PoolPolicy


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Requests:
    """The requests that got all their tokens, as columns, in the order of their arrival.

    Every array has shape ``(len(self),)``. Times are virtual, in seconds.

    Attributes:
        index: Place of the request in the workload, from 0; of a trace by time.
        arrival_seconds: When the client sent it.
        prefill_worker: Index of the worker that prefilled it.
        decode_worker: Index of the worker that decoded it; without a decode pool the same one.
        ttft_seconds: From sending to the first token.
        itl_seconds: Mean time between two tokens; NaN with fewer than two.
        latency_seconds: From sending to the last token.
        input_tokens: Prompt tokens.
        output_tokens: Generated tokens.
        cached_tokens: Prompt tokens that were found in the worker's cache.
    """

    index: NDArray[np.uint64]
    arrival_seconds: NDArray[np.float64]
    prefill_worker: NDArray[np.uint32]
    decode_worker: NDArray[np.uint32]
    ttft_seconds: NDArray[np.float64]
    itl_seconds: NDArray[np.float64]
    latency_seconds: NDArray[np.float64]
    input_tokens: NDArray[np.uint64]
    output_tokens: NDArray[np.uint64]
    cached_tokens: NDArray[np.uint64]

    def __len__(self) -> int:
        """Number of requests."""
        return self.index.size

    def __repr__(self) -> str:
        """The size only: the rows are for numpy and pandas."""
        return f"Requests(rows={len(self)})"

    def to_dict(self) -> dict[str, NDArray[Any]]:
        """The columns by name, as ``pandas.DataFrame`` and ``polars.DataFrame`` take them."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}


@dataclass(frozen=True, slots=True)
class Distribution:
    """A sample's mean, quantiles (linearly interpolated) and largest value."""

    mean: float
    p50: float
    p90: float
    p99: float
    max: float


@dataclass(frozen=True, slots=True)
class Summary:
    """What the requests add up to.

    Attributes:
        arrived: Requests that were sent.
        completed: Requests that got all their tokens.
        rejected: Requests that an engine refused, because they are too long for it.
        duration_seconds: Virtual time from the start to the last token.
        requests_per_second: Completed requests per second of it.
        output_tokens_per_second: Generated tokens per second of it.
        cached_fraction: Share of the prompt tokens that were found in a cache; None if no request
            completed, as the three below.
        ttft_seconds: Time to the first token.
        itl_seconds: Mean time between two tokens, by request; None too if no request had two.
        latency_seconds: Time to the last token.
        retried: Times that a request was sent anew, because its worker was lost.
    """

    arrived: int
    completed: int
    rejected: int
    duration_seconds: float
    requests_per_second: float
    output_tokens_per_second: float
    cached_fraction: float | None
    ttft_seconds: Distribution | None
    itl_seconds: Distribution | None
    latency_seconds: Distribution | None
    retried: int = 0

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Self:
        """From a mapping of the same names, with mappings for the distributions."""
        distributions = {
            name: None if values[name] is None else Distribution(**values[name])
            for name in ("ttft_seconds", "itl_seconds", "latency_seconds")
        }
        return cls(**{**values, **distributions})


@dataclass(frozen=True, slots=True)
class PolicyAt:
    """A pool's policy from some time on.

    Attributes:
        time_seconds: Virtual time.
        policy: The pool and its policy.
    """

    time_seconds: float
    policy: PoolPolicy


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """The result of one run.

    Attributes:
        requests: The finished requests.
        summary: What they add up to.
        policies: Every pool's policy at the start and after each swap, in order of time.
        events: What the controller did; empty without one.
        wall_seconds: How long the engines ran by the wall clock, the controller included. The one
            thing here that is not the same every time.
    """

    requests: Requests
    summary: Summary
    policies: tuple[PolicyAt, ...]
    events: tuple[Event, ...]
    wall_seconds: float
