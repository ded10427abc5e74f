"""What tuning found, as tables and a plot."""

from collections.abc import Sequence

from dynamo_regime.study.report import Lines, Report, Series, Table
from dynamo_regime.study.report.values import percent, shown
from dynamo_regime.study.statistics import Change, Verdict, estimate
from dynamo_regime.study.tuning.objective import Objective
from dynamo_regime.study.tuning.proof import Proof
from dynamo_regime.study.tuning.search import Rung, Tried


def tuning_report(rungs: Sequence[Rung], proof: Proof, objective: Objective, name: str) -> Report:
    """The best settings, their proof, and the objective over ω by load."""
    verdict = (
        "The tuned profile is better than Dynamo's default, and was written."
        if proof.is_better
        else "The tuned profile is not significantly better than Dynamo's default on the requests"
        " held out: the default is kept, and was written."
    )
    worse = [
        f"{speed:g}x"
        for speed, change in proof.by_speed.items()
        if change is not None and change.verdict is Verdict.HIGHER
    ]
    if worse:
        verdict += f" The tuned profile is worse at {', '.join(worse)}."
    tables = (_best(rungs, objective), _proof(proof, verdict))
    return Report(f"Tuning on {name}", tables, (_plot(rungs, objective),))


def _best(rungs: Sequence[Rung], objective: Objective) -> Table:
    rows = []
    for rung in rungs:
        best, default = (objective.score(each.results) for each in (rung.best, rung.default))
        rows.append(
            (
                f"{rung.speed:g}x",
                shown(rung.load_index),
                _name(rung.best),
                shown(best[1]),
                shown(default[1]),
                percent(best[1] / default[1] - 1.0 if default[1] > 0.0 else None),
                f"{best[0]:.2f}",
            )
        )
    columns = ("speed", "load index", "best τ, ω", "objective, s", "of 0, 1", "change", "P99/limit")
    notes = (
        "Found on the first two thirds; the load index is that at which the detector saw requests"
        " delayed under the best setting. P99/limit above 1 misses a limit.",
    )
    return Table("Best setting by load", columns, tuple(rows), notes)


def _proof(proof: Proof, verdict: str) -> Table:
    rows = [_row(f"{speed:g}x", change) for speed, change in proof.by_speed.items()]
    rows.append(_row("all loads alike", proof.overall))
    columns = ("speed", "default", "tuned", "change", "95 % interval", "verdict")
    return Table("On the last third, not tuned on", columns, tuple(rows), (verdict,))


def _row(name: str, change: Change | None) -> tuple[str, ...]:
    if change is None:
        return (name, "–", "–", "–", "–", "–")
    interval = "–"
    if change.low is not None and change.high is not None:
        interval = f"{percent(change.low)} to {percent(change.high)}"
    return (
        name,
        shown(change.before),
        shown(change.after),
        percent(change.change),
        interval,
        change.verdict.value,
    )


def _plot(rungs: Sequence[Rung], objective: Objective) -> Lines:
    """At τ = 0, as a share of the default's, over the runs that a setting got."""
    series = []
    for rung in rungs:
        cold = sorted(
            (each for each in rung.tried if each.setting.temperature == 0.0),
            key=lambda each: each.setting.prefill_weight,
        )
        points = []
        for each in cold:
            # Against the same windows and seeds, in the order in which both got them.
            pairs = zip(each.results, rung.default.results, strict=False)
            ratios = [_ratio(objective.value(one), objective.value(other)) for one, other in pairs]
            points.append(estimate(ratios))
        weights = tuple(each.setting.prefill_weight for each in cold)
        series.append(Series(f"{rung.speed:g}x", weights, tuple(points)))
    return Lines(
        "Objective over ω at τ = 0, by load, as a share of that of ω = 1",
        "ω",
        "objective / objective of Dynamo's default",
        tuple(series),
        log_x=True,
        log_y=True,
    )


def _ratio(value: float | None, of: float | None) -> float | None:
    return None if value is None or not of else value / of


def _name(tried: Tried) -> str:
    return f"{tried.setting.temperature:g}, {tried.setting.prefill_weight:g}"
