import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dynamo_regime.control.checked import ConfigurationError
from dynamo_regime.sim import (
    ClosedLoop,
    Cluster,
    MultiTurn,
    RouterSettings,
    Simulation,
    Trace,
    Workload,
    simulate,
)
from dynamo_regime.sim.simulation_file import load_simulation, save_simulation
from tests.unit.sim.runs import conversations, prompts


def _simulation(workload: Workload) -> Simulation:
    router = RouterSettings(temperature=0.3, config={"router_track_output_blocks": True})
    return Simulation(Cluster.parse("1P/2D"), router, workload, seed=2**63)


@pytest.mark.parametrize("workload", [ClosedLoop(), MultiTurn(sessions=30, speed=2.0)])
def test_a_simulation_is_read_as_it_was_written(tmp_path: Path, workload: Workload) -> None:
    save_simulation(tmp_path, _simulation(workload))
    assert load_simulation(tmp_path) == _simulation(workload)
    assert [path.name for path in tmp_path.iterdir()] == ["simulation.json"]


def test_a_trace_lies_beside_it_and_gives_the_same_run(tmp_path: Path) -> None:
    simulation = _simulation(conversations(50, 3.0))
    save_simulation(tmp_path, simulation)
    loaded = load_simulation(tmp_path)
    assert isinstance(loaded.workload, Trace)
    before, after = simulate(simulation).requests, simulate(loaded).requests
    np.testing.assert_array_equal(after.latency_seconds, before.latency_seconds)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["simulation.json", "trace.npz"]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"workload": {"kind": "open"}},
            "kind is 'open', which is unknown: use 'closed', 'multi_turn' or",
        ),
        ({"workload": {"kind": "closed", "phases": []}}, "workload: phases is"),
        ({"workload": {"kind": "multi_turn", "turns": 0}}, "workload: turns is 0"),
        ({"cluster": None}, "the section cluster is missing: add it"),
        ({"seed": 1.5}, "seed is 1.5: it must be an integer"),
        ({"sed": 1}, "the key sed is unknown: remove it"),
        ({"cluster": {"aggregated": {"workers": 0}}}, "cluster: aggregated.workers is 0"),
    ],
)
def test_a_document_that_is_none_is_refused_with_file_and_key(
    tmp_path: Path, change: dict[str, Any], sentence: str
) -> None:
    save_simulation(tmp_path, _simulation(ClosedLoop()))
    path = tmp_path / "simulation.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(ConfigurationError, match=sentence) as refused:
        load_simulation(tmp_path)
    assert str(refused.value).startswith(str(path))


@pytest.mark.parametrize("content", [None, b"no archive"])
def test_a_trace_that_is_gone_or_broken_is_named(tmp_path: Path, content: bytes | None) -> None:
    save_simulation(tmp_path, _simulation(prompts([0.0])))
    path = tmp_path / "trace.npz"
    path.unlink() if content is None else path.write_bytes(content)
    with pytest.raises(ConfigurationError, match=r"trace.npz does not hold the trace of"):
        load_simulation(tmp_path)
