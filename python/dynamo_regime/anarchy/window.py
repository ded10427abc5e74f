"""Finished requests, cut into the games that were played: who was in flight together."""

from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from dynamo_regime.errors import InputError


@dataclass(frozen=True, slots=True, eq=False)
class Requests:
    """Finished requests as columns of one length, in any order.

    Attributes:
        worker: Index of the worker of each, from 0.
        start_seconds: When it was sent.
        latency_seconds: From sending to the end.
        prompt_blocks: Blocks of its prompt.
        cached_blocks: Those of them that its worker had in its cache.
        best_cached_blocks: Those that any worker had; where that is not known, the prompt's.
        workers: Number of workers that it could have gone to.

    Raises:
        InputError: A row cannot be; the message names the first such row, counted from 1.
    """

    worker: NDArray[np.int64]
    start_seconds: NDArray[np.float64]
    latency_seconds: NDArray[np.float64]
    prompt_blocks: NDArray[np.float64]
    cached_blocks: NDArray[np.float64]
    best_cached_blocks: NDArray[np.float64]
    workers: int

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name != "workers" and value.shape != (len(self),):
                raise InputError(
                    f"{field.name} has shape {value.shape} for {len(self)} requests: give one value"
                    " a row"
                )
        for wrong, what in (
            ((self.worker < 0) | (self.worker >= self.workers), "a worker that does not exist"),
            (~np.isfinite(self.start_seconds), "a start that is no finite time"),
            (
                ~(np.isfinite(self.latency_seconds) & (self.latency_seconds > 0.0)),
                "a latency that is not a number of seconds above 0",
            ),
            (
                ~((self.cached_blocks >= 0.0) & (self.cached_blocks <= self.best_cached_blocks)),
                "cached blocks that are not between 0 and the most cached anywhere",
            ),
            (
                ~(self.best_cached_blocks <= self.prompt_blocks),
                "more blocks cached than its prompt has",
            ),
        ):
            if wrong.any():
                raise InputError(
                    f"row {int(np.argmax(wrong)) + 1} has {what}: leave it out or mend it"
                )

    def __len__(self) -> int:
        """Number of requests."""
        return self.worker.size

    def mean_load(self) -> NDArray[np.float64]:
        """Requests on the worker of each, itself included, on average over its life; shape (n,)."""
        load = np.empty(len(self))
        end_seconds = self.start_seconds + self.latency_seconds
        for worker in np.unique(self.worker):
            rows = np.flatnonzero(self.worker == worker)
            start, end = self.start_seconds[rows], end_seconds[rows]
            times = np.concatenate([start, end])
            change = np.repeat([1.0, -1.0], rows.size)
            order = np.argsort(times, kind="stable")
            times, there = times[order], np.cumsum(change[order])
            until = np.concatenate([[0.0], np.cumsum(there[:-1] * np.diff(times))])
            load[rows] = (np.interp(end, times, until) - np.interp(start, times, until)) / (
                end - start
            )
        return load


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """The requests that were in flight at one moment: one congestion game.

    Attributes:
        time_seconds: The moment.
        requests: They, in the order of their rows.
    """

    time_seconds: float
    requests: Requests

    def __len__(self) -> int:
        """Requests in flight."""
        return len(self.requests)

    @property
    def loads(self) -> NDArray[np.int64]:
        """Requests in flight on each worker, shape (workers,)."""
        return np.bincount(self.requests.worker, minlength=self.requests.workers)

    def prefill_seconds(
        self, seconds_per_block: float, *, cached_elsewhere: bool
    ) -> NDArray[np.float64]:
        """What each request's prefill takes on each worker, shape (n, workers).

        Of the worker taken it is known what was cached there. Of the others it is only known that
        it is between nothing and the most that any worker had; the truth lies between the two.

        Args:
            seconds_per_block: Time to prefill a block.
            cached_elsewhere: Every other worker has the most, rather than nothing.
        """
        requests = self.requests
        uncached = requests.prompt_blocks.copy()
        if cached_elsewhere:
            uncached -= requests.best_cached_blocks
        seconds = np.repeat(uncached[:, None] * seconds_per_block, requests.workers, axis=1)
        taken = requests.prompt_blocks - requests.cached_blocks
        seconds[np.arange(len(requests)), requests.worker] = taken * seconds_per_block
        return seconds


def in_flight(requests: Requests, every_seconds: float) -> Iterator[Window]:
    """The requests in flight at every moment of a regular grid, from the first start on.

    A moment at which nothing was in flight gives no window. A request that began and ended between
    two moments is in none.

    Raises:
        InputError: The distance is not positive.
    """
    if not (np.isfinite(every_seconds) and every_seconds > 0.0):
        raise InputError(f"windows every {every_seconds} s: give a positive distance")
    if len(requests) == 0:
        return
    start = requests.start_seconds
    end = start + requests.latency_seconds
    first = float(start.min())
    # The moments k with start ≤ first + k · every < end.
    entered = np.ceil((start - first) / every_seconds).astype(np.int64)
    left = np.ceil((end - first) / every_seconds).astype(np.int64)
    moments = np.maximum(left - entered, 0)
    rows = np.repeat(np.arange(len(requests)), moments)
    within = np.arange(rows.size) - np.repeat(np.cumsum(moments) - moments, moments)
    moment = entered[rows] + within
    order = np.argsort(moment, kind="stable")
    found, bounds = np.unique(moment[order], return_index=True)
    for k, members in zip(found.tolist(), np.split(rows[order], bounds[1:]), strict=True):
        yield Window(first + k * every_seconds, _taken(requests, members))


def at_moment(requests: Requests, time_seconds: float) -> Window:
    """The requests in flight at one moment, perhaps none."""
    start = requests.start_seconds
    there = (start <= time_seconds) & (time_seconds < start + requests.latency_seconds)
    return Window(time_seconds, _taken(requests, np.flatnonzero(there)))


def _taken(requests: Requests, rows: NDArray[np.int64]) -> Requests:
    columns = (field.name for field in fields(requests) if field.name != "workers")
    return Requests(
        **{name: getattr(requests, name)[rows] for name in columns}, workers=requests.workers
    )
