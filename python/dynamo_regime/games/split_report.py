"""A plan as tables and a figure, and as replicas of a deployment."""

from typing import Any

from dynamo_regime.games.split import Split
from dynamo_regime.games.split_study import Planned, SplitRow, planned
from dynamo_regime.study.read import rejections
from dynamo_regime.study.report import Lines, Report, Series, Table
from dynamo_regime.study.report.values import percent, shown
from dynamo_regime.study.run_folder import Finished
from dynamo_regime.study.statistics import Estimate, estimate


def plan_report(finished: Finished) -> Report:
    """Every split of the first mix, the game's two solutions, and how both move with the mix."""
    plans = planned(finished)
    settings = finished.settings
    title = (
        f"{settings['workers']} workers of {settings['cluster']}, {settings['in_flight']} clients"
    )
    first = plans[0]
    tables = [_splits(first, settings, rejections(finished)), _solutions(first)]
    if len(plans) > 1:
        tables.append(_mixes(plans))
    return Report(title, tuple(tables), (_figure(first),))


def replicas(
    split: SplitRow, workers: int, deployment: str, prefill: str, decode: str
) -> dict[str, Any]:
    """The split as a DynamoGraphDeployment, for a server-side apply.

    The components of ``nvidia.com/v1beta1`` are merged by their names, so that nothing else of the
    deployment is touched.

    Args:
        split: The split.
        workers: All of them.
        deployment: Name of the deployment.
        prefill: Name of its prefill component.
        decode: Name of its decode component.
    """
    return {
        "apiVersion": "nvidia.com/v1beta1",
        "kind": "DynamoGraphDeployment",
        "metadata": {"name": deployment},
        "spec": {
            "components": [
                {"name": prefill, "replicas": split.prefill_workers},
                {"name": decode, "replicas": workers - split.prefill_workers},
            ]
        },
    }


def _splits(plan: Planned, settings: Any, notes: tuple[str, ...]) -> Table:
    workers = settings["workers"]
    best = plan.simulated_best
    rows = []
    for row in plan.rows:
        x = row.prefill_workers
        marks = [
            name
            for name, there in (
                ("equilibrium", x == plan.equilibrium_workers),
                ("optimum", x == plan.optimum_workers),
                ("best simulated", row is best),
            )
            if there
        ]
        rows.append(
            (
                f"{x}P/{workers - x}D",
                shown(row.game_ttft_seconds),
                shown(row.ttft_seconds),
                shown(row.game_itl_seconds * 1e3),
                shown(None if row.itl_seconds is None else row.itl_seconds * 1e3),
                shown(row.game_welfare),
                shown(row.welfare),
                shown(row.requests_per_second),
                ", ".join(marks),
            )
        )
    columns = (
        "split",
        "TTFT game, s",
        "TTFT simulated",
        "ITL game, ms",
        "ITL simulated",
        "welfare game",
        "welfare simulated",
        "requests/s",
        "",
    )
    return Table(f"Splits, {plan.mix}", columns, tuple(rows), (*_regret(plan), *notes))


def _regret(plan: Planned) -> tuple[str, ...]:
    best = plan.simulated_best
    found = plan.row(plan.optimum_workers)
    if found is best:
        compared = "The game's optimum is the best simulated split."
    elif found.welfare is None or best.welfare is None:
        compared = "Simulated, the game's optimum finished no request: simulate for longer."
    else:
        loss = found.welfare / best.welfare - 1.0
        compared = f"Simulated, the game's optimum costs {percent(loss)} against the best split."
    return (
        "Welfare is minus the latencies in multiples of their objectives: "
        "-(TTFT / objective) - (ITL + TTFT / tokens out) / objective.",
        compared,
    )


def _solutions(plan: Planned) -> Table:
    def row(name: str, split: Split) -> tuple[str, ...]:
        return (
            name,
            shown(split.prefill_workers),
            shown(split.decode_workers),
            shown(split.prefill_marginal),
            shown(split.external_marginal),
            shown(split.decode_marginal),
            shown(split.welfare, 4),
        )

    columns = (
        "",
        "prefill workers",
        "decode workers",
        "prefill U_p'",
        "external E'",
        "decode V'",
        "welfare",
    )
    rows = (
        row("equilibrium", plan.equilibrium),
        row("optimum", plan.optimum),
    )
    gap = plan.optimum.decode_marginal - plan.optimum.prefill_marginal
    shift = plan.optimum.prefill_workers - plan.equilibrium.prefill_workers
    notes = [
        "A worker more is worth U_p' to prefill, V' to decode, and one of prefill E' to decode."
        " Equilibrium (variational): U_p' = V'. Optimum: U_p' + E' = V'.",
        f"The optimum gives prefill {shown(shift)} workers more.",
    ]
    # At a kink of a measured curve the marginals jump past each other.
    if abs(gap - plan.optimum.external_marginal) > 1e-3 * abs(plan.optimum.external_marginal):
        notes.append("A solution is at a kink of a measured curve, where the marginals jump.")
    return Table("The game", columns, rows, tuple(notes))


def _mixes(plans: tuple[Planned, ...]) -> Table:
    rows = []
    for plan in plans:
        rows.append(
            (
                str(plan.mix),
                shown(plan.equilibrium.prefill_workers),
                shown(plan.optimum.prefill_workers),
                str(plan.equilibrium_workers),
                str(plan.optimum_workers),
                str(plan.simulated_best.prefill_workers),
            )
        )
    columns = (
        "mix",
        "equilibrium",
        "optimum",
        "equilibrium, whole",
        "optimum, whole",
        "best simulated",
    )
    return Table("Prefill workers by mix", columns, tuple(rows))


def _figure(plan: Planned) -> Lines:
    x = tuple(float(row.prefill_workers) for row in plan.rows)

    def cost(welfare: float | None) -> Estimate | None:
        return None if welfare is None else estimate([-welfare])

    return Lines(
        title=f"Cost of every split, {plan.mix}",
        x_label="prefill workers",
        y_label="latencies in multiples of their objectives",
        series=(
            Series("game", x, tuple(cost(row.game_welfare) for row in plan.rows)),
            Series("simulated", x, tuple(cost(row.welfare) for row in plan.rows)),
        ),
        log_y=True,
    )
