"""The controller's metrics in OpenMetrics text; every one of them is in ``docs/metrics.md``."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np
from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    Metric,
    StateSetMetricFamily,
)
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

from dynamo_regime.control.events import PoolSwap
from dynamo_regime.control.live import LiveController, LiveState, Observer
from dynamo_regime.control.reading import WorkerLoad
from dynamo_regime.control.regime import Transition
from dynamo_regime.control.settings import Mode
from dynamo_regime.control.verdict import Regime
from dynamo_regime.target import Decisions

if TYPE_CHECKING:
    from dynamo_regime.control.fleet.status import FleetStatus

CONTENT_TYPE = CONTENT_TYPE_LATEST

MAX_WORKERS = 128
"""Workers that have a series of their own; the others are one series, ``other``."""
_DECISIONS = 1_000

_encode: Callable[[CollectorRegistry], bytes] = generate_latest

_DELAYS = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0)
_SELECTION = (1e-7, 2e-7, 3e-7, 5e-7, 7.5e-7, 1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 1e-3, 1e-2)
_FAST = (1e-6, 5e-6, 1e-5, 5e-5, 1e-4, 5e-4, 1e-3, 5e-3, 1e-2, 0.1, 1.0)


class Metrics(Observer):
    """Counts what happens; what is at the moment is looked up when the page is asked for."""

    def __init__(self) -> None:
        """Begin with nothing counted."""
        self._registry = CollectorRegistry()

        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(f"dynamo_regime_{name}", text, labels, registry=self._registry)

        def histogram(name: str, text: str, buckets: tuple[float, ...]) -> Histogram:
            return Histogram(
                f"dynamo_regime_{name}_seconds",
                text,
                buckets=buckets,
                unit="seconds",
                registry=self._registry,
            )

        self._transitions = counter(
            "transitions",
            "Changes of regime, fallbacks and recoveries.",
            "before",
            "after",
            "cause",
        )
        self._swaps = counter("swaps", "Policies that the controller swapped.", "pool")
        self._shadow_swaps = counter(
            "shadow_swaps", "Policies that it would have swapped in mode act.", "pool"
        )
        self._swap_failures = counter("swap_failures", "Swaps that were refused.", "pool")
        self._errors = counter("controller_errors", "Rounds of the controller that failed.")
        self._detection = histogram(
            "detection_delay", "From the onset of a change, as dated, to its transition.", _DELAYS
        )
        self._swap_seconds = histogram("swap_duration", "Time that a swap took.", _FAST)
        self._step_seconds = histogram("controller_step", "Time that a decision took.", _FAST)
        self._selection = histogram(
            "selection", "Time that the plug-in took to choose a worker; every 64th.", _SELECTION
        )

    def stepped(self, seconds: float) -> None:
        """Count a decision."""
        self._step_seconds.observe(seconds)

    def transition(self, transition: Transition) -> None:
        """Count a transition and the time that it took to see it."""
        self._transitions.labels(transition.before, transition.after, transition.cause).inc()
        if transition.since is not None:
            self._detection.observe(max(transition.time - transition.since, 0.0))

    def swapped(self, swap: PoolSwap, seconds: float) -> None:
        """Count a swap."""
        self._swaps.labels(swap.pool).inc()
        self._swap_seconds.observe(seconds)

    def shadow_swapped(self, swap: PoolSwap) -> None:
        """Count a swap that was not made."""
        self._shadow_swaps.labels(swap.pool).inc()

    def swap_failed(self, swap: PoolSwap) -> None:
        """Count a swap that was refused."""
        self._swap_failures.labels(swap.pool).inc()

    def failed(self) -> None:
        """Count a round that failed."""
        self._errors.inc()

    def decided(self, decisions: Decisions) -> None:
        """Count the routing decisions that were timed."""
        elapsed = decisions.elapsed_seconds
        for seconds in elapsed[np.isfinite(elapsed)].tolist():
            self._selection.observe(seconds)

    def watch(self, live: LiveController, lost: Callable[[], int]) -> None:
        """From now on, show how ``live`` stands, too.

        Args:
            live: The controller.
            lost: Decisions and requests that were lost so far before they were read.
        """
        self._registry.register(_Present(live, lost))

    def show(self, others: Collector) -> None:
        """From now on, show what ``others`` collects, too."""
        self._registry.register(others)

    def page(self) -> bytes:
        """All of it, as OpenMetrics text (:data:`CONTENT_TYPE`)."""
        return _encode(self._registry)


class _Present(Collector):
    """What is at the moment of the question; never waits for the controller's thread."""

    def __init__(self, live: LiveController, lost: Callable[[], int]) -> None:
        self._live = live
        self._lost = lost

    def collect(self) -> Iterator[Metric]:
        state = self._live.state()
        yield from _health(state)
        yield CounterMetricFamily(
            "dynamo_regime_lost_records",
            "Decisions and finished requests that were overwritten before they were read.",
            value=self._lost(),
        )
        yield from self._policies()
        yield from _decided(state)
        if state.fleet is not None:
            yield from _fleet(state.fleet)
        yield from self._shares()
        if state.reading is not None:
            yield _imbalance(state.reading.workers or ())

    def _policies(self) -> Iterator[Metric]:
        labels = ("pool", "instance")
        temperature = _gauge("policy_temperature", "Softmax temperature τ in force.", *labels)
        weight = _gauge("policy_prefill_weight", "Prefill weight ω in force.", *labels)
        version = _gauge("policy_version", "Version of the policy in force.", *labels)
        for policy in self._live.target.policies():
            names = (policy.pool, policy.instance)
            temperature.add_metric(names, policy.temperature)
            weight.add_metric(names, policy.prefill_weight)
            version.add_metric(names, policy.version)
        return iter((temperature, weight, version))

    def _shares(self) -> Iterator[Metric]:
        share = _gauge(
            "worker_share_ratio",
            "Share of its pool's latest decisions that chose this worker.",
            *("pool", "worker_id", "dp_rank"),
        )
        decisions = self._live.target.recent_decisions(_DECISIONS)
        keys = zip(
            decisions.pool.tolist(),
            decisions.worker_id.tolist(),
            decisions.dp_rank.tolist(),
            strict=True,
        )
        counts: dict[tuple[str, int, int], int] = defaultdict(int)
        for key in keys:
            counts[key] += 1
        totals: dict[str, int] = defaultdict(int)
        for (pool, _, _), count in counts.items():
            totals[pool] += count
        others: dict[str, int] = defaultdict(int)
        busiest = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
        for place, ((pool, worker, rank), count) in enumerate(busiest):
            if place < MAX_WORKERS:
                share.add_metric((pool, str(worker), str(rank)), count / totals[pool])
            else:
                others[pool] += count
        for pool, count in others.items():
            share.add_metric((pool, "other", ""), count / totals[pool])
        yield share


def _gauge(name: str, text: str, *labels: str, value: float | None = None) -> GaugeMetricFamily:
    return GaugeMetricFamily(
        f"dynamo_regime_{name}", text, value=value, labels=None if value is not None else labels
    )


def _states(name: str, text: str, states: type[Mode] | type[Regime], now: str) -> Metric:
    return StateSetMetricFamily(
        f"dynamo_regime_{name}", text, value={str(each): each == now for each in states}
    )


def _health(state: LiveState) -> Iterator[Metric]:
    yield _gauge(
        "controller_up",
        "1 if the controller's thread lives and has completed a round in the last 3 s.",
        value=float(state.healthy),
    )
    yield _gauge(
        "controller_round_age_seconds",
        "Time since the controller completed a round.",
        value=state.round_age_seconds,
    )
    yield CounterMetricFamily(
        "dynamo_regime_controller_cpu_seconds",
        "Processor time that the controller's thread has used.",
        value=state.cpu_seconds,
    )
    yield _gauge("signal_up", "1 if readings can be had.", value=float(not state.signal_problem))
    yield _states("mode", "What the controller may do.", Mode, state.mode)
    override = _gauge(
        "override_remaining_seconds",
        "Time for which a pool is left to a person; pool is empty for all pools.",
        "pool",
    )
    for pool, seconds in state.overrides.items():
        override.add_metric((pool or "",), seconds)
    yield override


def _decided(state: LiveState) -> Iterator[Metric]:
    if state.step is None or state.reading_age_seconds is None:
        return
    yield _gauge("reading_age_seconds", "Age of the last reading.", value=state.reading_age_seconds)
    yield _states("regime", "Regime that the fleet is in.", Regime, state.step.regime)
    yield _gauge(
        "fallback",
        "1 while the safe policy is in force for want of readings.",
        value=float(state.step.fallen_back),
    )
    if state.step.verdict is not None:
        verdict = state.step.verdict
        yield _gauge(
            "detector_statistic",
            "The number that the detector tests, in its own unit.",
            value=verdict.statistic,
        )
        if verdict.level is not None:
            yield _gauge(
                "load_index",
                "0 no load, 1 where the transition regime begins, 2 where the saturated one does.",
                value=verdict.level,
            )


def _fleet(status: "FleetStatus") -> Iterator[Metric]:
    yield _gauge("fleet_up", "1 while the fleet's bucket is read.", value=float(status.connected))
    yield _gauge(
        "fleet_decider", "1 if this frontend decides for the fleet.", value=float(status.is_decider)
    )
    yield _gauge(
        "fleet_policy_version",
        "Version of the fleet's policy that is followed here; 0 before the first.",
        value=0 if status.policy is None else status.policy.version,
    )
    yield _gauge("fleet_members", "Members heard at the last look.", value=status.members)
    if status.contact_age_seconds is not None:
        yield _gauge(
            "fleet_contact_age_seconds",
            "Time since the fleet's bucket was last read.",
            value=status.contact_age_seconds,
        )
    yield CounterMetricFamily(
        "dynamo_regime_fleet_leases_taken",
        "Times that this frontend has come to decide for the fleet.",
        value=status.leases_taken,
    )


def _imbalance(workers: tuple[WorkerLoad, ...]) -> Metric:
    metric = _gauge(
        "load_imbalance_ratio",
        "Highest load of a pool's workers over their mean; 1 is even.",
        *("pool", "load"),
    )
    loads: dict[tuple[str, str], list[float]] = defaultdict(list)
    for worker in workers:
        for load in ("prefill_tokens", "decode_blocks"):
            value = getattr(worker, load)
            if value is not None:
                loads[worker.pool or "", load].append(value)
    for names, values in loads.items():
        mean = float(np.mean(values))
        if mean > 0:
            metric.add_metric(names, max(values) / mean)
    return metric
