"""The price of anarchy as tables and plots."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from dynamo_regime.anarchy.combine import Combined
from dynamo_regime.anarchy.curves import Costs, fitted
from dynamo_regime.anarchy.judge import (
    JudgedWindow,
    Together,
    by_load,
    evenly,
    flags,
    judge,
    together,
)
from dynamo_regime.anarchy.source import Pool, of_outcome
from dynamo_regime.anarchy.window import Requests
from dynamo_regime.errors import InputError
from dynamo_regime.sim import ClosedLoop, Phase, RouterSettings, Simulation, simulate
from dynamo_regime.sim.systems import SYSTEMS
from dynamo_regime.study.report import Lines, Report, Series, Table
from dynamo_regime.study.report.values import percent, shown
from dynamo_regime.study.statistics import Estimate

_COLUMNS = (
    "windows",
    "L",
    "U",
    "rest",
    "PoA-hat",
    "excess s",
    "queue",
    "imbal.",
    "cache",
)
_MEANING = (
    "L and U bound the price of anarchy, realised over optimal cost by the same curve: L with"
    " nothing and U with the most cached on the workers not taken. rest: the cost after best"
    " responses, over the optimum. PoA-hat: the paper's estimate. excess: measured latency beyond"
    " the optimum per request in flight; then the shares in it of queueing (what the load of a"
    " worker does not explain), imbalance and lost cache."
)
_KNEE = 96
"""The paper finds its knee above so many clients."""
_SECONDS = 60.0
_MOST_POINTS = 400
_NOTHING = 0.01
"""Where the excess is a smaller share of the latencies, what it is made of says nothing."""


def report_of(
    name: str, requests: Requests, costs: Costs, judged: Sequence[JudgedWindow]
) -> Report:
    """What was judged of some requests: all together and by load, and plots over time and load."""
    mean_latency = float(requests.latency_seconds.mean())
    times = [each.price.time_seconds for each in judged]
    apart = (times[-1] - times[0]) / max(len(times) - 1, 1)
    block = max(1, round(mean_latency / apart)) if apart > 0.0 else 1
    groups = {"all": list(judged), **by_load(judged)}
    rows = tuple(
        (label, *_cells(len(members), together(members, block)))
        for label, members in groups.items()
    )
    saturates = "" if costs.n_sat is None else f", n_sat {shown(costs.n_sat)}"
    notes = (
        f"{len(requests)} requests on {requests.workers} workers; curve: {costs.origin}{saturates},"
        f" {shown(costs.seconds_per_block * 1e3)} ms a block.",
        _all(together(judged, block)),
        _MEANING,
        *flags(judged, costs),
    )
    return Report(
        title=f"Price of anarchy: {name}",
        tables=(Table("By requests in flight", ("in flight", *_COLUMNS), rows, notes),),
        figures=(
            _figure("Over time", "time (s)", [t - times[0] for t in times], judged),
            _figure("Over load", "requests in flight", *_by_load(judged)),
        ),
    )


def over_loads(
    system: str,
    pool: Pool,
    clients: Sequence[int],
    most_windows: int,
    progress: Callable[[int, int], None] | None,
) -> Report:
    """The paper's sweep on one of its systems, simulated: its estimate beside the interval.

    As the paper does, one curve is taken for all loads: it is fitted to those up to its knee.

    Raises:
        InputError: The system has no such pool.
    """
    cluster = SYSTEMS[system]
    found = cluster.prefill if pool == "prefill" else cluster.decode
    if found is None:
        raise InputError(f"{system} has no {pool} pool")
    runs = []
    for number, count in enumerate(clients, 1):
        load = ClosedLoop(phases=(Phase(concurrency=count, duration_seconds=_SECONDS),))
        outcome = simulate(Simulation(cluster, RouterSettings(), load))
        runs.append(_without_prompts(of_outcome(outcome, pool, found.workers, 64)))
        if progress is not None:
            progress(number, 2 * len(clients))
    calm = [run for count, run in zip(clients, runs, strict=True) if count <= _KNEE]
    costs = fitted(_joined(calm or runs))
    rows = []
    judged_all = []
    for number, (count, requests) in enumerate(zip(clients, runs, strict=True), 1):
        judged = judge(requests, costs, evenly(requests, most_windows))
        judged_all += judged
        rows.append((str(count), *_cells(len(judged), together(judged))))
        if progress is not None:
            progress(len(clients) + number, 2 * len(clients))
    saturates = "" if costs.n_sat is None else f", n_sat {shown(costs.n_sat)}"
    notes = (
        f"Curve, of the loads up to {_KNEE} clients: {costs.origin}{saturates}.",
        _MEANING,
        *flags(judged_all, costs),
    )
    return Report(
        title=f"Price of anarchy of {system}, simulated",
        tables=(Table("By clients", ("clients", *_COLUMNS), tuple(rows), notes),),
        figures=(_figure("Over load", "requests in flight", *_by_load(judged_all)),),
    )


def _without_prompts(requests: Requests) -> Requests:
    """The paper's prompts are all alike and its systems cache nothing: the curve has it all."""
    nothing = np.zeros(len(requests))
    return replace(
        requests, prompt_blocks=nothing, cached_blocks=nothing, best_cached_blocks=nothing
    )


def _joined(runs: Sequence[Requests]) -> Requests:
    """One after the other, so that requests of two runs are never in flight together."""
    begin, starts = 0.0, []
    for run in runs:
        starts.append(run.start_seconds - run.start_seconds.min() + begin)
        begin = float((starts[-1] + run.latency_seconds).max()) + 1.0
    columns = {
        name: np.concatenate([getattr(run, name) for run in runs])
        for name in (
            "worker",
            "latency_seconds",
            "prompt_blocks",
            "cached_blocks",
            "best_cached_blocks",
        )
    }
    return Requests(start_seconds=np.concatenate(starts), workers=runs[0].workers, **columns)


def _cells(count: int, found: Together) -> tuple[str, ...]:
    return (
        str(count),
        shown(found.low.price, 4),
        shown(found.high.price, 4),
        shown(found.equilibrium.price, 4),
        shown(found.frozen.price, 4),
        shown(round(found.excess_seconds, 4) + 0.0),
        *(
            "–" if abs(found.excess_share) < _NOTHING else percent(part)
            for part in (found.queueing, found.imbalance, found.cache_loss)
        ),
    )


def _all(found: Together) -> str:
    def told(name: str, each: Combined) -> str:
        interval = "" if each.low is None else f" ({shown(each.low, 4)} to {shown(each.high, 4)})"
        return f"{name} {shown(each.price, 4)}{interval}"

    parts = (told("L", found.low), told("U", found.high), told("PoA-hat", found.frozen))
    return f"All windows, with 95 % intervals: {', '.join(parts)}."


def _by_load(judged: Sequence[JudgedWindow]) -> tuple[list[float], list[JudgedWindow]]:
    ordered = sorted(judged, key=lambda each: each.price.in_flight)
    return [float(each.price.in_flight) for each in ordered], ordered


def _figure(title: str, label: str, x: list[float], judged: Sequence[JudgedWindow]) -> Lines:
    # A page of thousands of points is slow to look at, and shows no more.
    apart = -(-len(judged) // _MOST_POINTS)
    x, judged = x[::apart], judged[::apart]
    curves = (
        ("L", [each.price.low for each in judged]),
        ("U", [each.price.high for each in judged]),
        ("the paper's estimate", [each.price.frozen.price for each in judged]),
    )
    return Lines(
        title=title,
        x_label=label,
        y_label="price of anarchy",
        series=tuple(
            Series(name, tuple(x), tuple(Estimate(value, None, 1) for value in values))
            for name, values in curves
        ),
        log_y=True,
    )
