"""``dynamo-regime poa``: how far requests were from the best assignment to workers."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from dynamo_regime.cli.connection import print_json
from dynamo_regime.cli.study_options import (
    AsJson,
    numbers_of,
    one_sentence,
    progress_bar,
    tables_json,
    write_page,
)
from dynamo_regime.errors import RegimeError

if TYPE_CHECKING:
    from dynamo_regime.anarchy import Costs, Requests


def poa(
    source: Annotated[
        str,
        typer.Argument(
            help="CSV or JSON lines with request, worker, start, latency, prompt_blocks and"
            " cached_blocks; the folder of a recording; the URL of an admin listener; or a system"
            " of the paper (340B-1P2D, 70B-1P2D, 70B-1P5D), which is simulated."
        ),
    ],
    pool: Annotated[
        Literal["aggregated", "prefill", "decode"] | None,
        typer.Option(
            help="Whose choice is judged: prefill by the TTFT, decode by the rest, aggregated by"
            " the whole latency. By default aggregated, or prefill if others decode."
        ),
    ] = None,
    curve: Annotated[
        str | None,
        typer.Option(
            help="The workers' latency as a,b,d,n_sat,beta (see `calibrate`); by default it is"
            " fitted to the requests.",
            metavar="NUMBERS",
        ),
    ] = None,
    seconds_per_block: Annotated[
        float | None, typer.Option(min=0.0, help="Prefill of a block, with --curve.")
    ] = None,
    windows: Annotated[int, typer.Option(min=1, help="Moments that are judged.")] = 300,
    concurrency: Annotated[
        str, typer.Option(help="Clients of a simulated system, each for a minute.")
    ] = "8,16,32,64,96,128,192,256",
    plot: Annotated[
        Path | None, typer.Option(help="Write tables and plots here, as one HTML page.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """The price of anarchy as an interval, the paper's estimate beside it, and what explains it."""
    with one_sentence():
        from dynamo_regime.anarchy.report import over_loads, report_of
        from dynamo_regime.sim.systems import SYSTEMS

        if source in SYSTEMS:
            clients = numbers_of(concurrency, int, "--concurrency")
            with progress_bar("poa") as progress:
                report = over_loads(source, pool or "aggregated", clients, windows, progress)
        else:
            from dynamo_regime.anarchy.judge import evenly, judge

            requests = _requests(source, pool)
            costs = _costs(requests, curve, seconds_per_block)
            with progress_bar("poa") as progress:
                judged = judge(requests, costs, evenly(requests, windows), progress)
            report = report_of(source, requests, costs, judged)
        if plot is not None:
            write_page(report, plot)
        if as_json:
            print_json(tables_json(report))
            return
        from dynamo_regime.study.report.terminal import print_report

        print_report(report)


def _requests(source: str, pool: Literal["aggregated", "prefill", "decode"] | None) -> "Requests":
    from dynamo_regime.anarchy.source import of_events, read_requests

    if not source.startswith(("http://", "https://")):
        return read_requests(Path(source), pool)
    from dynamo_regime.admin.access import token_from_environment
    from dynamo_regime.admin.client import AdminClient
    from dynamo_regime.admin.controller_wire import MAX_EVENTS

    events = []
    with AdminClient(source, token_from_environment()) as client:
        after = 0
        while (page := client.requests(MAX_EVENTS, after)).requests:
            events += [each.event for each in page.requests]
            after = page.requests[-1].number
    return of_events(events, pool, client.address)


def _costs(requests: "Requests", curve: str | None, seconds_per_block: float | None) -> "Costs":
    from dynamo_regime.anarchy import Costs, fitted
    from dynamo_regime.control.checked import validated
    from dynamo_regime.sim.latency import PoleModel

    if curve is None:
        if seconds_per_block is not None:
            raise RegimeError("--seconds-per-block is given without --curve: give both or neither")
        return fitted(requests)
    parts = curve.split(",")
    if len(parts) != 5:
        raise RegimeError(f"--curve is {curve!r}: write five numbers, as 0.002,0.05,4.4,112,1.2")
    names = ("a", "b", "d", "n_sat", "beta")
    model = validated(PoleModel, dict(zip(names, parts, strict=True)), "--curve")
    return Costs.given(model, seconds_per_block or 0.0)
