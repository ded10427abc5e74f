"""The cluster and the workload that the options of a command describe."""

import dataclasses
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from dynamo_regime.errors import RegimeError

if TYPE_CHECKING:
    from dynamo_regime.sim import Cluster, Trace, Workload

_WORKLOADS = "paper, multi-turn, conversation"


def cluster_of(text: str, engine_args: str | None) -> "Cluster":
    """The cluster that ``--cluster`` and ``--engine-args`` describe.

    Raises:
        RegimeError: They describe none.
    """
    from dynamo_regime.control.checked import parse_mapping, read_text, validated
    from dynamo_regime.sim import Cluster, Engine
    from dynamo_regime.sim.systems import SYSTEMS

    is_file = Path(text).suffix in (".yaml", ".yml", ".json")
    if text in SYSTEMS or is_file:
        if engine_args is not None:
            raise RegimeError(f"{text} has engines of its own: leave --engine-args out")
        if is_file:
            return validated(Cluster, parse_mapping(read_text(Path(text)), text), text)
        return SYSTEMS[text]
    if engine_args is None:
        return Cluster.parse(text)
    if engine_args.lstrip().startswith("{"):
        arguments = parse_mapping(engine_args, "--engine-args")
    else:
        arguments = parse_mapping(read_text(Path(engine_args)), engine_args)
    return Cluster.parse(text, Engine(arguments=arguments))


def workload_of(
    text: str, *, speed: float | None, concurrency: int | None, requests: int | None
) -> "Workload":
    """The workload of this name or file, with the options that a trace has.

    Raises:
        RegimeError: There is none, or it is no trace and has an option of one.
    """
    from dynamo_regime.control.checked import parse_mapping, read_text
    from dynamo_regime.sim import ClosedLoop, MultiTurn, Trace
    from dynamo_regime.sim.simulation_file import workload_of as described
    from dynamo_regime.sim.workload.files import read_trace
    from dynamo_regime.sim.workload.mooncake import conversation

    path = Path(text)
    workload: Workload
    if text == "paper":
        workload = ClosedLoop()
    elif text == "multi-turn":
        workload = MultiTurn()
    elif text == "conversation":
        workload = conversation()
    elif not path.exists():
        raise RegimeError(
            f"{text!r} is no workload: name one of {_WORKLOADS}, or a file that exists"
        )
    elif path.suffix in (".yaml", ".yml", ".json"):
        workload = described(parse_mapping(read_text(path), text), text)
    else:
        workload = read_trace(path)
    if not isinstance(workload, Trace):
        for name, value in (
            ("speed", speed),
            ("concurrency", concurrency),
            ("requests", requests),
        ):
            if value is not None:
                raise RegimeError(f"{text} is no trace: leave --{name} out")
        return workload
    if workload.bad_lines:
        first = workload.bad_lines[0]
        print(
            f"dynamo-regime: {len(workload.bad_lines)} lines of {text} are left out; line"
            f" {first.number}: {first.reason}",
            file=sys.stderr,
        )
    if requests is not None:
        workload = workload.slice(0, requests)
    return dataclasses.replace(
        workload, speed=1.0 if speed is None else speed, concurrency=concurrency
    )


def trace_of(text: str, requests: int | None) -> "Trace":
    """The trace of this name or file; conversations of ``multi-turn`` then wait for no answer.

    Raises:
        RegimeError: It has clients in place of times.
    """
    from dynamo_regime.sim import MultiTurn, Trace
    from dynamo_regime.study.ramp import open_conversations

    workload = workload_of(text, speed=None, concurrency=None, requests=None)
    if isinstance(workload, MultiTurn):
        workload = open_conversations(workload, seed=0)
    if not isinstance(workload, Trace):
        raise RegimeError(
            f"{text} has clients in place of times, and no load to vary: name a trace"
        )
    return workload if requests is None else workload.slice(0, requests)
