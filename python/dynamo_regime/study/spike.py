"""The paper's spike: 32, 128 and 32 clients, static and adaptive."""

from typing import Literal

from dynamo_regime.control import PRESETS
from dynamo_regime.control.detectors import PaperSettings
from dynamo_regime.sim.workload import ClosedLoop
from dynamo_regime.study.policy import DYNAMO_DEFAULT, Policy
from dynamo_regime.study.read import beside_the_paper, over_seeds
from dynamo_regime.study.report import Report, Table
from dynamo_regime.study.report.values import with_deviation
from dynamo_regime.study.result import Change, Result
from dynamo_regime.study.run_folder import Finished
from dynamo_regime.study.side_by_side import policy_name, side_by_side_report
from dynamo_regime.study.statistics import Estimate, estimate

LOOP = ClosedLoop()
"""120 s, 180 s and 120 s, as in arXiv 2606.17081."""
_SATURATED = 1
"""Number of the segment with 128 clients."""


def spike_policies(cluster_name: str) -> tuple[Policy, ...]:
    """Static, the paper's controller, and ours.

    Args:
        cluster_name: A system of the paper has the thresholds that the paper gives it; other
            clusters have those of 70B.
    """
    model: Literal["340B", "70B"] = "340B" if cluster_name.startswith("340B") else "70B"
    return (
        Policy("static", DYNAMO_DEFAULT),
        Policy(
            "paper", profile=PRESETS["paper"], detector=PaperSettings(kind="paper", preset=model)
        ),
        Policy("adaptive: measured", profile=PRESETS["measured"]),
    )


def spike_report(finished: Finished) -> Report:
    """By phase, how the change of load was met, and the paper's figures beside ours."""
    title = f"Spike of clients, {finished.settings['cluster']}"
    report = side_by_side_report(finished, title)
    ours = {}
    for case in finished.results:
        row = policy_name(finished, case)
        ours[row, "TTFT P99, s"] = with_deviation(
            over_seeds(finished, case, "ttft_p99_seconds", _SATURATED)
        )
        ours[row, "requests/s"] = with_deviation(
            over_seeds(finished, case, "requests_per_second", _SATURATED)
        )
        ours[row, "time to detect, s"] = with_deviation(_detection(finished.results[case]))
    tables = (*report.tables, _quality(finished), *beside_the_paper(finished, ours))
    return Report(title, tables, report.figures)


def _onset() -> float:
    return LOOP.phases[0].duration_seconds


def _end() -> float:
    return _onset() + LOOP.phases[1].duration_seconds


def _first(result: Result) -> Change | None:
    """The first change of regime in the phase with 128 clients."""
    return next(
        (change for change in result.changes if _onset() <= change.time_seconds < _end()), None
    )


def _detection(results: tuple[Result, ...]) -> Estimate | None:
    found = [_first(result) for result in results]
    return estimate([None if each is None else each.time_seconds - _onset() for each in found])


def _quality(finished: Finished) -> Table:
    rows = []
    for case, results in finished.results.items():
        judged = [_first(result) for result in results]
        known = [each for each in judged if each is not None]
        rows.append(
            (
                policy_name(finished, case),
                f"{len(known)} of {len(judged)}",
                with_deviation(_detection(results)),
                with_deviation(over_seeds(finished, case, "adapt_seconds", _SATURATED)),
                with_deviation(over_seeds(finished, case, "overshoot", _SATURATED), 100.0),
                with_deviation(estimate([float(result.swaps) for result in results])),
            )
        )
    columns = ("policy", "detected", "time to detect, s", "to adapt, s", "overshoot, %", "swaps")
    notes = (
        "To detect: from the step to 128 clients to the first change of regime; with `static`,"
        " nothing detects. To adapt: until the TTFT P99 of every 5 s stays within 25 % of where it"
        " ends. Overshoot: how far it went beyond that.",
    )
    return Table("The step to 128 clients", columns, tuple(rows), notes)
