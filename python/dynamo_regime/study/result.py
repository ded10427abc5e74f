"""What is kept of a run."""

import math
from typing import Self

import numpy as np
from numpy.typing import NDArray

from dynamo_regime.control.checked import Checked
from dynamo_regime.control.quality import settling
from dynamo_regime.control.regime import Cause
from dynamo_regime.sim import Outcome, Requests, Trace
from dynamo_regime.study.case import BATCHES, Case
from dynamo_regime.study.metered import MeteredController
from dynamo_regime.study.statistics import batch_means

_WINDOW_SECONDS = 5.0


class Measures(Checked):
    """What the requests that arrived in a stretch of time came to; None is what is not known.

    Attributes:
        requests: How many arrived and finished.
        requests_per_second: Requests that finished within the stretch, per second of it.
        ttft_mean_seconds: Mean time to the first token; P50 and P99 alike.
        itl_mean_seconds: Mean over requests of the mean time between two tokens; P99 alike.
        latency_mean_seconds: Mean time to the last token.
        adapt_seconds: From its beginning until the TTFT P99 of windows of 5 s had settled, as
            :func:`dynamo_regime.control.quality.settling` has it.
        overshoot: How far that went beyond where it ends, as a share of that.
    """

    requests: int
    requests_per_second: float | None = None
    ttft_mean_seconds: float | None = None
    ttft_p50_seconds: float | None = None
    ttft_p99_seconds: float | None = None
    itl_mean_seconds: float | None = None
    itl_p99_seconds: float | None = None
    latency_mean_seconds: float | None = None
    adapt_seconds: float | None = None
    overshoot: float | None = None

    @classmethod
    def of(cls, requests: Requests, begin: float, end: float) -> Self:
        """Of the requests that arrived from ``begin`` to ``end``, in seconds."""
        arrival = requests.arrival_seconds
        chosen = (arrival >= begin) & (arrival < end)
        finished = arrival + requests.latency_seconds
        if not math.isfinite(end):
            end = float(finished.max(initial=begin))
        done = int(((finished > begin) & (finished <= end)).sum())
        ttft = requests.ttft_seconds[chosen]
        itl = requests.itl_seconds[chosen]
        itl = itl[np.isfinite(itl)]
        settled_at, overshoot = settling(_windows(requests, begin, end))
        return cls(
            requests=int(chosen.sum()),
            requests_per_second=done / (end - begin) if end > begin else None,
            ttft_mean_seconds=_mean(ttft),
            ttft_p50_seconds=_quantile(ttft, 0.5),
            ttft_p99_seconds=_quantile(ttft, 0.99),
            itl_mean_seconds=_mean(itl),
            itl_p99_seconds=_quantile(itl, 0.99),
            latency_mean_seconds=_mean(requests.latency_seconds[chosen]),
            adapt_seconds=None if settled_at is None else settled_at - begin,
            overshoot=overshoot,
        )


def _windows(requests: Requests, begin: float, end: float) -> list[tuple[float, float]]:
    """TTFT P99 of the first tokens that came in each window of a stretch, by the window's end."""
    came = requests.arrival_seconds + requests.ttft_seconds
    order = np.argsort(came, kind="stable")
    edges = np.arange(begin, end, _WINDOW_SECONDS)
    bounds = np.searchsorted(came[order], [*edges, end])
    return [
        (float(edge) + _WINDOW_SECONDS, float(np.quantile(requests.ttft_seconds[rows], 0.99)))
        for edge, first, last in zip(edges, bounds[:-1], bounds[1:], strict=True)
        if (rows := order[first:last]).size
    ]


def _mean(values: NDArray[np.float64]) -> float | None:
    return float(values.mean()) if values.size else None


def delayed_at(levels: NDArray[np.float64]) -> float | None:
    """The load index at which delay is incurred: the mean of readings, weighted by the index.

    The ``load`` detector's index is the time that a new request would wait, in units of its
    thresholds, so that a reading at twice the index tells of twice the delay. The plain mean of a
    load that is mostly idle and sometimes saturated is a load that hardly delays anyone.

    Args:
        levels: Load index of every reading, shape (n,), 0 or more.

    Returns:
        E[L²] / E[L]; 0 of an idle run, None without a reading.
    """
    if levels.size == 0:
        return None
    total = float(levels.sum())
    return float((levels**2).sum()) / total if total > 0.0 else 0.0


def _quantile(values: NDArray[np.float64], share: float) -> float | None:
    return float(np.quantile(values, share)) if values.size else None


class Change(Checked):
    """A change of regime that the load caused.

    Attributes:
        time_seconds: When.
        before: The regime until then.
        after: The regime from then on.
        detect_seconds: From the onset, as the detector dates it.
        adapt_seconds: From the onset until the TTFT P99 had settled.
        overshoot: How far the P99 went beyond where it settled, as a share of that.
    """

    time_seconds: float
    before: str
    after: str
    detect_seconds: float | None = None
    adapt_seconds: float | None = None
    overshoot: float | None = None


class Result(Checked):
    """One run of one case.

    Attributes:
        case: Name of the case.
        seed: Of the run.
        rejected: Requests that an engine refused.
        cached_fraction: Share of the prompt tokens that were found in a cache.
        overall: All requests.
        segments: Those of each of the case's segments.
        ttft_batches: Mean TTFT of each of 20 batches of a trace's requests; empty if it has fewer,
            and for other workloads, whose requests are others under another policy.
        itl_batches: Mean ITL alike.
        load_index: Load index at which requests were delayed, as :func:`delayed_at`; None without a
            detector, or if it saw no load index.
        changes: Changes of regime that the load caused.
        swaps: Times that a policy was swapped.
        wall_seconds: How long it took.
    """

    case: str
    seed: int
    rejected: int
    cached_fraction: float | None
    overall: Measures
    segments: tuple[Measures, ...]
    ttft_batches: tuple[float | None, ...]
    itl_batches: tuple[float | None, ...]
    load_index: float | None
    changes: tuple[Change, ...]
    swaps: int
    wall_seconds: float


def measure(
    case: Case, seed: int, outcome: Outcome, controller: MeteredController | None
) -> Result:
    """What is kept of an outcome."""
    requests = outcome.requests
    return Result(
        case=case.name,
        seed=seed,
        rejected=outcome.summary.rejected,
        cached_fraction=outcome.summary.cached_fraction,
        overall=Measures.of(requests, 0.0, math.inf),
        segments=tuple(
            Measures.of(requests, each.from_seconds, each.until_seconds) for each in case.segments
        ),
        ttft_batches=_batches(case, requests.index, requests.ttft_seconds),
        itl_batches=_batches(case, requests.index, requests.itl_seconds),
        load_index=None if controller is None else delayed_at(np.array(controller.levels)),
        changes=_changes(outcome),
        swaps=sum(at.policy.version > 1 for at in outcome.policies),
        wall_seconds=outcome.wall_seconds,
    )


def _batches(
    case: Case, index: NDArray[np.uint64], seconds: NDArray[np.float64]
) -> tuple[float | None, ...]:
    if not isinstance(case.workload, Trace) or len(case.workload) < BATCHES:
        return ()
    whole = np.full(len(case.workload), math.nan)
    whole[index] = seconds
    means = batch_means(whole, BATCHES).tolist()
    return tuple(mean if math.isfinite(mean) else None for mean in means)


def _changes(outcome: Outcome) -> tuple[Change, ...]:
    judged = {
        event.quality.transition.time: event.quality
        for event in outcome.events
        if event.quality is not None
    }
    changes = []
    for event in outcome.events:
        transition = event.transition
        if transition is None or transition.cause is not Cause.LOAD:
            continue
        quality = judged.get(transition.time)
        changes.append(
            Change(
                time_seconds=transition.time,
                before=transition.before.value,
                after=transition.after.value,
                detect_seconds=None if quality is None else quality.detect_seconds,
                adapt_seconds=None if quality is None else quality.adapt_seconds,
                overshoot=None if quality is None else quality.overshoot,
            )
        )
    return tuple(changes)
