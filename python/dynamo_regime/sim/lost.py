"""Workers that are lost with what runs on them, as in a crash; what ran there is sent anew.

The engines cannot be told to drop a request. But a run is the same, bit for bit, up to the time at
which its requests differ: so it is run, the requests that were on the lost worker are found, and it
is run again with a copy of each that comes at the time of the loss. What the lost worker does with
the originals afterwards concerns nobody: no request is routed to it any more.
"""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dynamo_regime.errors import InputError
from dynamo_regime.sim.cluster import Cluster
from dynamo_regime.sim.outcome import Distribution, Outcome, Requests, Summary
from dynamo_regime.sim.simulation import Simulation
from dynamo_regime.sim.workload import Trace


@dataclass(frozen=True, slots=True)
class Loss:
    """A worker that is lost.

    Attributes:
        time_seconds: When.
        pool: Its pool.
        worker: Its index there.
    """

    time_seconds: float
    pool: str
    worker: int


def losses_of(cluster: Cluster) -> list[Loss]:
    """The lost workers of a cluster, in order of time."""
    pools = {name: getattr(cluster, name) for name in ("aggregated", "prefill", "decode")}
    found = [
        Loss(lifetime.until_seconds, name, lifetime.worker)
        for name, pool in pools.items()
        if pool is not None
        for lifetime in pool.lifetimes
        if lifetime.lost
    ]
    return sorted(found, key=lambda loss: loss.time_seconds)


def with_losses(simulation: Simulation, run: Callable[[Simulation], Outcome]) -> Outcome:
    """Run a cluster that loses workers.

    A request keeps the tokens that it had: it is sent anew with them as part of its prompt, as
    Dynamo's migration does, at the moment of the loss (a live frontend notices it seconds later).
    Its TTFT is that of its first token ever, its latency ends with its last; the workers and the
    cached tokens are those of its last attempt.

    Args:
        simulation: A trace at its recorded times.
        run: Runs a simulation without losses.

    Raises:
        InputError: Its workload is another.
    """
    workload = simulation.workload
    if not isinstance(workload, Trace) or workload.concurrency is not None:
        raise InputError(
            "a cluster that loses workers takes a trace at its recorded times: its clients cannot"
            " wait for answers"
        )
    attempts = _Attempts.of(workload)
    seconds = 0.0
    for loss in (*losses_of(simulation.cluster), None):
        outcome = run(dataclasses.replace(simulation, workload=attempts.trace))
        seconds += outcome.wall_seconds
        if loss is not None:
            attempts = attempts.after(loss, outcome.requests)
    requests = attempts.merged(outcome.requests)
    return dataclasses.replace(
        outcome,
        requests=requests,
        summary=_summary(outcome.summary, requests, len(workload), attempts.retried),
        wall_seconds=seconds,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Attempts:
    """A trace whose later rows are copies of earlier ones.

    Attributes:
        trace: Rows in the order in which they were added.
        root: The original request of each row.
        is_live: Whether nothing has been lost of a row.
        first_token_seconds: Of each original, once it came on a worker that was lost later; or NaN.
        retried: How many copies there are.
    """

    trace: Trace
    root: NDArray[np.int64]
    is_live: NDArray[np.bool_]
    first_token_seconds: NDArray[np.float64]
    retried: int

    @classmethod
    def of(cls, workload: Trace) -> "_Attempts":
        arrival = workload.arrival_seconds
        trace = dataclasses.replace(
            workload, arrival_seconds=(arrival - arrival.min()) / workload.speed, speed=1.0
        )
        n = len(trace)
        return cls(trace, np.arange(n), np.ones(n, np.bool_), np.full(n, np.nan), 0)

    def _rows(self, requests: Requests) -> NDArray[np.int64]:
        """The row of each finished request, whose index counts by time."""
        by_time = np.argsort(self.trace.arrival_seconds, kind="stable")
        return by_time[requests.index.astype(np.int64)]

    def after(self, loss: Loss, requests: Requests) -> "_Attempts":
        """With a copy of every request that was on the worker when it was lost."""
        rows = self._rows(requests)
        first = requests.arrival_seconds + requests.ttft_seconds
        end = requests.arrival_seconds + requests.latency_seconds
        if loss.pool == "prefill":
            was_there = (requests.prefill_worker == loss.worker) & (first > loss.time_seconds)
        else:
            was_there = (requests.decode_worker == loss.worker) & (end > loss.time_seconds)
        was_there &= self.is_live[rows] & (requests.arrival_seconds < loss.time_seconds)
        lost = np.flatnonzero(was_there)
        trace, first_token = self.trace, self.first_token_seconds.copy()
        inputs, outputs = list(trace.input_tokens), list(trace.output_tokens)
        blocks, offsets = [trace.blocks], list(trace.block_offsets)
        fresh = int(trace.blocks.max(initial=0)) + 1
        for place in lost.tolist():
            row = int(rows[place])
            done = 0
            if first[place] <= loss.time_seconds:
                root = self.root[row]
                first_token[root] = np.fmin(first_token[root], first[place])
                gap = requests.itl_seconds[place]
                done = 1 if not gap > 0 else 1 + int((loss.time_seconds - first[place]) / gap)
                done = min(done, int(trace.output_tokens[row]) - 1)
            prompt = int(trace.input_tokens[row]) + done
            own = trace.blocks[trace.block_offsets[row] : trace.block_offsets[row + 1]]
            more = max(-(-prompt // trace.block_tokens) - own.size, 0)
            blocks += [own, np.arange(fresh, fresh + more, dtype=np.uint64)]
            fresh += more
            inputs.append(prompt)
            outputs.append(int(trace.output_tokens[row]) - done)
            offsets.append(offsets[-1] + own.size + more)
        is_live = np.concatenate([self.is_live, np.ones(lost.size, np.bool_)])
        is_live[rows[lost]] = False
        return _Attempts(
            trace=dataclasses.replace(
                trace,
                arrival_seconds=np.concatenate(
                    [trace.arrival_seconds, np.full(lost.size, loss.time_seconds)]
                ),
                input_tokens=np.array(inputs),
                output_tokens=np.array(outputs),
                blocks=np.concatenate(blocks),
                block_offsets=np.array(offsets),
            ),
            root=np.concatenate([self.root, self.root[rows[lost]]]),
            is_live=is_live,
            first_token_seconds=first_token,
            retried=self.retried + lost.size,
        )

    def merged(self, requests: Requests) -> Requests:
        """Every original request once, by the attempt of it that was not lost."""
        rows = self._rows(requests)
        kept = np.flatnonzero(self.is_live[rows])
        root = self.root[rows[kept]]
        arrival = self.trace.arrival_seconds[root]
        first = requests.arrival_seconds[kept] + requests.ttft_seconds[kept]
        first = np.fmin(first, self.first_token_seconds[root])
        end = requests.arrival_seconds[kept] + requests.latency_seconds[kept]
        outputs = self.trace.output_tokens[root]
        gaps = np.maximum(outputs - 1, 1)
        # Its place among the originals by time, and rows in that order, as in any outcome.
        originals = self.trace.arrival_seconds[: self.first_token_seconds.size]
        place = np.argsort(np.argsort(originals, kind="stable"))[root]
        order = np.argsort(place)
        return Requests(
            index=place.astype(np.uint64)[order],
            arrival_seconds=arrival[order],
            prefill_worker=requests.prefill_worker[kept][order],
            decode_worker=requests.decode_worker[kept][order],
            ttft_seconds=(first - arrival)[order],
            itl_seconds=np.where(outputs > 1, (end - first) / gaps, np.nan)[order],
            latency_seconds=(end - arrival)[order],
            input_tokens=self.trace.input_tokens[root].astype(np.uint64)[order],
            output_tokens=outputs.astype(np.uint64)[order],
            cached_tokens=np.minimum(
                requests.cached_tokens[kept], self.trace.input_tokens[root].astype(np.uint64)
            )[order],
        )


def _summary(whole: Summary, requests: Requests, sent: int, retried: int) -> Summary:
    duration = float((requests.arrival_seconds + requests.latency_seconds).max(initial=0.0))
    prompts = int(requests.input_tokens.sum())
    per_second = 1.0 / duration if duration > 0.0 else 0.0
    return dataclasses.replace(
        whole,
        arrived=sent,
        completed=len(requests),
        duration_seconds=duration,
        requests_per_second=len(requests) * per_second,
        output_tokens_per_second=float(requests.output_tokens.sum()) * per_second,
        cached_fraction=float(requests.cached_tokens.sum()) / prompts if prompts else None,
        ttft_seconds=_distribution(requests.ttft_seconds),
        itl_seconds=_distribution(requests.itl_seconds[np.isfinite(requests.itl_seconds)]),
        latency_seconds=_distribution(requests.latency_seconds),
        retried=retried,
    )


def _distribution(values: NDArray[np.float64]) -> Distribution | None:
    if values.size == 0:
        return None
    p50, p90, p99 = (float(each) for each in np.quantile(values, (0.5, 0.9, 0.99)))
    return Distribution(float(values.mean()), p50, p90, p99, float(values.max()))
