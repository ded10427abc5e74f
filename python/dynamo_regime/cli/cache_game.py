"""``dynamo-regime cache-game``: what it costs that every worker caches for itself."""

from pathlib import Path
from typing import Annotated

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


def cache_game(
    workers: Annotated[int, typer.Option(min=2, max=64, help="Workers.")] = 8,
    items: Annotated[int, typer.Option(min=2, max=256, help="Prefixes.")] = 16,
    slots: Annotated[
        list[str] | None,
        typer.Option(
            help="Prefixes that a worker's HBM, DRAM and SSD hold, as 2,2,0. May be given several"
            " times.",
            metavar="HBM,DRAM,SSD",
        ),
    ] = None,
    zipf: Annotated[str, typer.Option(help="Exponents of the prefixes' popularity.")] = "0.5,1",
    seeds: Annotated[int, typer.Option(min=1, help="Draws of what is hot where.")] = 3,
    page: Annotated[
        Path | None, typer.Option(help="Write the table here, as one HTML page.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Selfish caching against the best placement found, by network, capacity and popularity."""
    with one_sentence():
        from dynamo_regime.games.cache_study import cache_report

        rooms = [_room(text) for text in slots or ("1,1,0", "2,2,2")]
        exponents = numbers_of(zipf, float, "--zipf")
        if min(exponents) < 0.0:
            raise RegimeError(f"--zipf is {zipf!r}: exponents are 0 or more")
        with progress_bar("cache-game") as progress:
            report = cache_report(workers, items, rooms, exponents, seeds, progress)
        if page is not None:
            write_page(report, page)
        if as_json:
            print_json(tables_json(report))
            return
        from dynamo_regime.study.report.terminal import print_report

        print_report(report)


def _room(text: str) -> tuple[int, int, int]:
    parts = text.split(",")
    if len(parts) != 3 or not all(part.isdigit() for part in parts):
        raise RegimeError(f"--slots is {text!r}: write three numbers, as 2,2,0")
    hbm, dram, ssd = (int(part) for part in parts)
    return hbm, dram, ssd
