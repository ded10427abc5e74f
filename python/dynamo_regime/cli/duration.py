"""Lengths of time as people write them on a command line."""

import re

import typer

_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_MOST = 7 * 86400.0


def seconds_of(text: str) -> float:
    """The seconds that ``90s``, ``10m``, ``1.5h`` or ``1d`` stands for.

    Raises:
        typer.BadParameter: It stands for none, or for more than a week.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd])", text)
    seconds = float(match[1]) * _SECONDS[match[2]] if match else 0.0
    if not 0.0 < seconds <= _MOST:
        raise typer.BadParameter(f"{text!r} is no time such as 90s, 10m or 1.5h, up to 7d")
    return seconds
