"""``dynamo-regime calibrate``: from measured latencies to the latency curve of a worker."""

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from dynamo_regime.cli.connection import print_json
from dynamo_regime.cli.duration import seconds_of
from dynamo_regime.cli.study_options import AsJson, one_sentence, write_page

if TYPE_CHECKING:
    from dynamo_regime.sim.calibrate import Calibration
    from dynamo_regime.sim.measurements import Measurements
    from dynamo_regime.study.report import Report


def calibrate(
    measurements: Annotated[
        str,
        typer.Argument(
            help="CSV or JSON lines with the columns concurrency (requests at once on one worker)"
            " and latency_seconds, or the URL of the Prometheus server that scrapes the frontends."
        ),
    ],
    latency: Annotated[
        Literal["ttft", "itl"],
        typer.Option(help="Of a Prometheus server: which latency. A file says its own."),
    ] = "ttft",
    since: Annotated[
        str, typer.Option("--for", help="Of a Prometheus server: how far back.", metavar="TIME")
    ] = "6h",
    output: Annotated[
        Path | None,
        typer.Option(help="Write the curve here, as YAML: the `latency` of an engine."),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Write the fit and its residuals here, as one HTML page.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Fit l(n) = a·n + b + d / (n_sat - n)^β, with intervals; refused where no pole is seen."""
    with one_sentence():
        from dynamo_regime.sim.calibrate import calibrate as fitted

        measured = _measured(measurements, latency, seconds_of(since))
        fit = fitted(measured.concurrency, measured.latency_seconds)
        report = _report(fit, measured)
        if output is not None:
            _write_curve(output, fit)
        if plot is not None:
            write_page(report, plot)
        if as_json:
            print_json(_json(fit, measured))
            return
        from dynamo_regime.study.report.terminal import print_report

        print_report(report)


def _measured(source: str, latency: Literal["ttft", "itl"], since_seconds: float) -> "Measurements":
    from dynamo_regime.sim.measurements import ask_prometheus, read_measurements

    if not source.startswith(("http://", "https://")):
        return read_measurements(Path(source))
    from dynamo_regime.control.signals.http import HttpSource
    from dynamo_regime.control.signals.prometheus import AUTHORITY_VARIABLE, TOKEN_VARIABLE

    with HttpSource(
        source,
        timeout_seconds=10.0,
        token=os.environ.get(TOKEN_VARIABLE),
        authority_path=os.environ.get(AUTHORITY_VARIABLE),
    ) as http:
        return ask_prometheus(http, latency=latency, since_seconds=since_seconds, now=time.time())


def _write_curve(path: Path, fit: "Calibration") -> None:
    import yaml

    from dynamo_regime.study.run_folder import write_whole

    write_whole(path, yaml.safe_dump(fit.model.model_dump(), sort_keys=False).encode())


def _report(fit: "Calibration", measured: "Measurements") -> "Report":
    import numpy as np

    from dynamo_regime.sim.calibrate import PARAMETERS
    from dynamo_regime.study.report import Lines, Report, Series, Table
    from dynamo_regime.study.report.values import shown
    from dynamo_regime.study.statistics import estimate

    rows = []
    for name, unit in zip(PARAMETERS, ("s", "s", "s · requests^β", "requests", ""), strict=True):
        low, high = fit.interval(name)
        rows.append((name, shown(getattr(fit.model, name)), f"{shown(low)} to {shown(high)}", unit))
    n = measured.concurrency
    levels = np.unique(n)
    between = np.linspace(levels[0], levels[-1], 200)

    def by_level(name: str, values: "np.typing.NDArray[np.float64]") -> Series:
        return Series(
            name,
            tuple(levels.tolist()),
            tuple(estimate(values[n == level].tolist()) for level in levels),
        )

    curve = Series(
        "fitted",
        tuple(between.tolist()),
        tuple(estimate([y]) for y in fit.model.seconds(between).tolist()),
    )
    return Report(
        title="Latency curve",
        tables=(
            Table(
                title="l(n) = a·n + b + d / (n_sat - n)^beta",
                columns=("parameter", "fitted", "95 % interval", "unit"),
                rows=tuple(rows),
                notes=(
                    f"{n.size} measurements at {levels[0]:g} to {levels[-1]:g} requests at once.",
                    f"Root mean square error {fit.error:.1%} of the latency; of the best straight"
                    f" line {fit.line_error:.1%}.",
                ),
            ),
        ),
        figures=(
            Lines(
                title="Measured (mean ± standard deviation) and fitted",
                x_label="requests at once",
                y_label="latency (s)",
                series=(by_level("measured", measured.latency_seconds), curve),
                log_y=True,
            ),
            Lines(
                title="Residuals",
                x_label="requests at once",
                y_label="(measured - fitted) / measured",
                series=(by_level("residual", fit.relative_residuals),),
            ),
        ),
    )


def _json(fit: "Calibration", measured: "Measurements") -> dict[str, Any]:
    from dynamo_regime.sim.calibrate import PARAMETERS

    return {
        "latency": fit.model.model_dump(),
        "intervals": {name: fit.interval(name) for name in PARAMETERS},
        "measurements": int(measured.concurrency.size),
        "error": fit.error,
        "line_error": fit.line_error,
    }
