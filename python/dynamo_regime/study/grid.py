"""Every temperature with every prefill weight, at several loads."""

from collections.abc import Sequence
from itertools import product

from dynamo_regime.sim import Cluster, RouterSettings
from dynamo_regime.sim.workload import Workload
from dynamo_regime.study.case import Case
from dynamo_regime.study.policy import DYNAMO_DEFAULT, static_policy
from dynamo_regime.study.read import beside_the_paper, label_values, over_seeds, rejections, where
from dynamo_regime.study.report import Heatmap, Report, Table
from dynamo_regime.study.report.values import percent, shown, with_deviation
from dynamo_regime.study.run_folder import Finished, Study

TEMPERATURES = (0.0, 0.3, 0.7, 1.0)
PREFILL_WEIGHTS = (0.0, 0.3, 0.7, 1.0)
"""The grid of arXiv 2606.17081; its loads are 64 and 128 clients."""


def grid_study(
    cluster_name: str,
    cluster: Cluster,
    loads: Sequence[tuple[str, Workload]],
    *,
    temperatures: Sequence[float] = TEMPERATURES,
    prefill_weights: Sequence[float] = PREFILL_WEIGHTS,
    router: RouterSettings | None = None,
    seeds: int,
) -> Study:
    """Static policies at every load.

    Args:
        cluster_name: For tables.
        cluster: The workers.
        loads: Name and requests of each load.
        temperatures: Values of τ.
        prefill_weights: Values of ω.
        router: Replicas and lag; its own τ and ω do not count.
        seeds: How many.
    """
    router = router or RouterSettings()
    cases = tuple(
        Case(
            name=f"l{number}-t{temperature:g}-w{weight:g}",
            labels={"load": load, "temperature": temperature, "prefill_weight": weight},
            cluster=cluster,
            workload=workload,
            policy=static_policy(temperature, weight),
            router=router,
        )
        for number, (load, workload) in enumerate(loads)
        for temperature, weight in product(temperatures, prefill_weights)
    )
    settings = {
        "cluster": cluster_name,
        "replicas": router.replicas,
        "kv_event_lag_seconds": router.kv_event_lag_seconds,
    }
    return Study("grid", cases, seeds, settings)


def grid_report(finished: Finished) -> Report:
    """The best setting at every load, and all of them."""
    settings = finished.settings
    title = f"Grid of τ and ω, {settings['cluster']}"
    if settings["replicas"] != 1 or settings["kv_event_lag_seconds"] != 0:
        title += f", {settings['replicas']} routers, lag {settings['kv_event_lag_seconds']:g} s"
    loads = label_values(finished, "load")
    tables = [_best(finished, loads, title)]
    figures = []
    for load in loads:
        tables.append(_all(finished, load))
        figures.append(_heatmap(finished, load))
    ours = {(str(load), "largest / smallest"): _spread(finished, load) for load in loads}
    tables.extend(beside_the_paper(finished, ours))
    return Report(title, tuple(tables), tuple(figures))


def _spread(finished: Finished, load: str | float) -> str:
    means = [mean_ttft(finished, case) for case in where(finished, load=load)]
    return shown(max(means) / min(means))


def mean_ttft(finished: Finished, case: str) -> float:
    """Mean over the seeds; infinite if no request got a token."""
    found = over_seeds(finished, case, "ttft_mean_seconds")
    return float("inf") if found is None else found.mean


def _best(finished: Finished, loads: Sequence[str | float], title: str) -> Table:
    rows = []
    for load in loads:
        cases = where(finished, load=load)
        default = where(
            finished,
            load=load,
            temperature=DYNAMO_DEFAULT.temperature,
            prefill_weight=DYNAMO_DEFAULT.prefill_weight,
        )
        # Of equal ones the default.
        best = min([*default, *cases], key=lambda case: mean_ttft(finished, case))
        cold = [case for case in cases if finished.labels[case]["temperature"] == 0.0]
        warm = [case for case in cases if finished.labels[case]["temperature"] > 0.0]
        rows.append(
            (
                str(load),
                _setting(finished, best),
                with_deviation(over_seeds(finished, best, "ttft_mean_seconds")),
                _change(finished, best, default),
                _change(finished, _lowest(finished, warm), _lowest(finished, cold)),
            )
        )
    columns = ("load", "best τ, ω", "mean TTFT, s", "against 0, 1", "best τ > 0 against best τ = 0")
    return Table(title, columns, tuple(rows), rejections(finished))


def _lowest(finished: Finished, cases: list[str]) -> list[str]:
    return sorted(cases, key=lambda case: mean_ttft(finished, case))[:1]


def _change(finished: Finished, case: str | list[str], than: list[str]) -> str:
    names = [case] if isinstance(case, str) else case
    if not names or not than:
        return "–"
    return percent(mean_ttft(finished, names[0]) / mean_ttft(finished, than[0]) - 1.0)


def _setting(finished: Finished, case: str) -> str:
    labels = finished.labels[case]
    return f"{labels['temperature']:g}, {labels['prefill_weight']:g}"


def _axes(finished: Finished) -> tuple[list[str | float], list[str | float]]:
    return label_values(finished, "temperature"), label_values(finished, "prefill_weight")


def _cells(finished: Finished, load: str | float) -> list[list[str]]:
    temperatures, weights = _axes(finished)
    return [
        [
            where(finished, load=load, temperature=temperature, prefill_weight=weight)[0]
            for weight in weights
        ]
        for temperature in temperatures
    ]


def _all(finished: Finished, load: str | float) -> Table:
    temperatures, weights = _axes(finished)
    rows = tuple(
        (
            f"{temperature:g}",
            *(with_deviation(over_seeds(finished, case, "ttft_mean_seconds")) for case in cases),
        )
        for temperature, cases in zip(temperatures, _cells(finished, load), strict=True)
    )
    columns = ("τ", *(f"ω {shown(float(weight))}" for weight in weights))
    return Table(f"Mean TTFT in s, {load}", columns, rows)


def _heatmap(finished: Finished, load: str | float) -> Heatmap:
    temperatures, weights = _axes(finished)
    values = []
    for cases in _cells(finished, load):
        found = [over_seeds(finished, case, "ttft_mean_seconds") for case in cases]
        values.append(tuple(None if each is None else each.mean for each in found))
    return Heatmap(
        f"Mean TTFT in s, {load}",
        "ω",
        "τ",
        tuple(f"{weight:g}" for weight in weights),
        tuple(f"{temperature:g}" for temperature in temperatures),
        tuple(values),
    )
