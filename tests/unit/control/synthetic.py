"""A small fleet in virtual time, whose readings the detectors are tried on.

Workers prefill first come, first served; a request goes to the worker with the least backlog. Then
it decodes for as long as its output takes, and holds its KV blocks. This is no model of an engine:
it is a queue with the noise of one (Poisson arrivals, uneven lengths, busy periods).
"""

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from dynamo_regime.control.reading import Latency, Quantile, Reading, WorkerLoad

BLOCK_TOKENS = 16


@dataclass(frozen=True, slots=True)
class Fleet:
    """Its size and speed; the defaults prefill 20 requests a second on each worker."""

    workers: int = 8
    prefill_tokens_per_second: float = 20_000.0
    prompt_tokens: float = 1_000.0
    prompt_spread: float = 1.0  # standard deviation of the logarithm
    decode_seconds: float = 5.0
    output_tokens: float = 256.0
    kv_blocks: float = 16_384.0
    window: float = 0.25
    minimum_count: int = 20

    @property
    def capacity(self) -> float:
        """Requests per second that all workers can prefill."""
        return self.workers * self.prefill_tokens_per_second / self.prompt_tokens


class _Clock:
    """Everything that is under way."""

    def __init__(self, fleet: Fleet, seed: int) -> None:
        self.fleet = fleet
        self.rng = np.random.default_rng(seed)
        self.free_at = [0.0] * fleet.workers
        self.blocks = [0.0] * fleet.workers
        self.active = [0] * fleet.workers
        self.prefilled: list[tuple[float, int, float, float]] = []  # (when, worker, blocks, TTFT)
        self.done: list[tuple[float, int, float]] = []  # (when, worker, blocks)

    def serve(self, arrival: float) -> float:
        """Take a request and say when it will be done."""
        fleet = self.fleet
        spread = fleet.prompt_spread
        tokens = fleet.prompt_tokens * self.rng.lognormal(-(spread**2) / 2, spread)
        length = self.rng.standard_gamma(4.0) / 4
        worker = self.free_at.index(min(self.free_at))
        start = max(arrival, self.free_at[worker])
        prefilled = start + tokens / fleet.prefill_tokens_per_second
        done = prefilled + fleet.decode_seconds * length
        blocks = (tokens + fleet.output_tokens * length) / BLOCK_TOKENS
        self.free_at[worker] = prefilled
        self.active[worker] += 1
        heapq.heappush(self.prefilled, (prefilled, worker, blocks, prefilled - arrival))
        heapq.heappush(self.done, (done, worker, blocks))
        return done

    def reading(self, time: float) -> Reading:
        fleet = self.fleet
        ttft = []
        while self.prefilled and self.prefilled[0][0] <= time:
            when, worker, blocks, waited = heapq.heappop(self.prefilled)
            self.blocks[worker] += blocks
            if when > time - fleet.window:
                ttft.append(waited)
        while self.done and self.done[0][0] <= time:
            _, worker, blocks = heapq.heappop(self.done)
            self.blocks[worker] -= blocks
            self.active[worker] -= 1
        workers = tuple(
            WorkerLoad(
                worker_id=worker,
                dp_rank=0,
                prefill_tokens=max(self.free_at[worker] - time, 0.0)
                * fleet.prefill_tokens_per_second,
                decode_blocks=max(self.blocks[worker], 0.0),
                active_requests=float(self.active[worker]),
                pool="aggregated",
                kv_blocks=fleet.kv_blocks,
            )
            for worker in range(fleet.workers)
        )
        enough = len(ttft) >= fleet.minimum_count
        return Reading(
            time=time,
            window=fleet.window,
            ttft=Latency(
                count=len(ttft),
                p50=Quantile(float(np.quantile(ttft, 0.50))) if enough else None,
                p99=Quantile(float(np.quantile(ttft, 0.99))) if enough else None,
            ),
            workers=workers,
            prefill_tokens_per_second=fleet.prefill_tokens_per_second,
        )


def open_loop(
    fleet: Fleet, rate: Callable[[float], float], seconds: float, interval: float, seed: int
) -> Iterator[Reading]:
    """Poisson arrivals at ``rate(time)`` requests per second, whatever became of earlier ones."""
    clock = _Clock(fleet, seed)
    slice_seconds = 0.05
    next_reading = interval
    steps = round(seconds / slice_seconds)
    for index in range(steps):
        begin = index * slice_seconds
        count = clock.rng.poisson(rate(begin) * slice_seconds)
        for arrival in np.sort(clock.rng.uniform(begin, begin + slice_seconds, count)):
            clock.serve(float(arrival))
        if begin + slice_seconds >= next_reading - 1e-9:
            yield clock.reading(next_reading)
            next_reading += interval


def closed_loop(
    fleet: Fleet, clients: Callable[[float], int], seconds: float, interval: float, seed: int
) -> Iterator[Reading]:
    """``clients(time)`` requests in flight: a client sends the next when its last one is done."""
    clock = _Clock(fleet, seed)
    done: list[float] = []
    time = 0.0
    next_reading = interval
    while time < seconds:
        while len(done) < clients(time):
            heapq.heappush(done, clock.serve(time))
        next_done = done[0] if done else np.inf
        next_change = min(next_done, time + 0.05, next_reading)
        time = float(next_change)
        if time >= next_reading:
            yield clock.reading(next_reading)
            next_reading += interval
        while done and done[0] <= time:
            heapq.heappop(done)
