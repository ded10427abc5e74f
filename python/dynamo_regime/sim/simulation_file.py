"""Simulations on disk: a JSON document, and beside it the columns of a trace.

So that a folder of results holds all that is needed to run it again.
"""

import json
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dynamo_regime.control.checked import ConfigurationError, parse_mapping, read_text, validated
from dynamo_regime.sim.cluster import Cluster, RouterSettings
from dynamo_regime.sim.simulation import Simulation
from dynamo_regime.sim.workload import ClosedLoop, MultiTurn, Trace, Workload
from dynamo_regime.sim.workload.arrivals import Arrivals

_DOCUMENT = "simulation.json"
_TRACE = "trace.npz"
_COLUMNS = ("arrival_seconds", "input_tokens", "output_tokens", "blocks", "block_offsets")


def save_simulation(folder: Path, simulation: Simulation) -> None:
    """Write a simulation into a folder that exists; what is there is replaced whole.

    Raises:
        OSError: It cannot be written.
    """
    workload = simulation.workload
    if isinstance(workload, Trace):
        columns: dict[str, Any] = dict(zip(_COLUMNS, workload.columns(), strict=True))
        partial = folder / f".{_TRACE}.{os.getpid()}"
        with partial.open("wb") as file:
            np.savez_compressed(file, **columns)
        partial.replace(folder / _TRACE)
    partial = folder / f".{_DOCUMENT}.{os.getpid()}"
    partial.write_text(json.dumps(simulation.document(), indent=2) + "\n", encoding="utf-8")
    partial.replace(folder / _DOCUMENT)


def load_simulation(folder: Path) -> Simulation:
    """Read what :func:`save_simulation` wrote.

    Raises:
        ConfigurationError: It is not there or cannot be used; the message names file and key.
    """
    path = folder / _DOCUMENT
    place = str(path)
    content = parse_mapping(read_text(path), place)
    unknown = sorted(set(content) - {"cluster", "router", "workload", "seed"})
    if unknown:
        raise ConfigurationError(f"{place}: the key {unknown[0]} is unknown: remove it")
    seed = content.get("seed", 0)
    if not isinstance(seed, int) or isinstance(seed, bool):
        raise ConfigurationError(f"{place}: seed is {seed!r}: it must be an integer")
    workload = _section(content, "workload", place)
    return Simulation(
        cluster=validated(Cluster, _section(content, "cluster", place), f"{place}: cluster"),
        router=validated(RouterSettings, _section(content, "router", place), f"{place}: router"),
        workload=workload_of(workload, f"{place}: workload", folder / _TRACE),
        seed=seed,
    )


def workload_of(content: Mapping[str, Any], place: str, columns: Path | None = None) -> Workload:
    """The workload that a document describes.

    Args:
        content: What was written, with its ``kind``.
        place: File and section, for messages.
        columns: Where the columns of a trace lie.

    Raises:
        ConfigurationError: It cannot be used.
    """
    rest = {key: value for key, value in content.items() if key != "kind"}
    match content.get("kind"):
        case "closed":
            return validated(ClosedLoop, rest, place)
        case "multi_turn":
            return validated(MultiTurn, rest, place)
        case "arrivals":
            return validated(Arrivals, rest, place).trace()
        case "trace" if columns is not None:
            return _trace(rest, columns)
        case kind:
            raise ConfigurationError(
                f"{place}: kind is {kind!r}, which is unknown: use 'closed',"
                " 'multi_turn' or 'arrivals'"
            )


def _trace(rest: dict[str, Any], path: Path) -> Trace:
    try:
        with np.load(path, allow_pickle=False) as file:
            columns = {name: file[name] for name in _COLUMNS}
        return Trace(**columns, **rest)
    except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
        raise ConfigurationError(
            f"{path} does not hold the trace of the simulation beside it ({error}): run it anew"
        ) from None


def _section(content: dict[str, Any], key: str, place: str) -> dict[str, Any]:
    section = content.get(key)
    if not isinstance(section, dict):
        raise ConfigurationError(f"{place}: the section {key} is missing: add it")
    return section
