import json
from pathlib import Path

import pytest

from dynamo_regime.sim import Cluster, RouterSettings, Simulation, simulate
from tests.unit.cli.conftest import Run
from tests.unit.sim.runs import conversations

_SHORT = ("simulate", "--requests", "100", "--speed", "4")


def test_the_json_is_what_the_library_says(run: Run) -> None:
    result = run(*_SHORT, "--prefill-weight", "0.3", "--seeds", "2", "--json")
    assert result.exit_code == 0
    printed = json.loads(result.stdout)
    simulation = Simulation(
        Cluster.parse("8"), RouterSettings(prefill_weight=0.3), conversations(100, 4.0)
    )
    outcome = simulate(simulation)
    assert printed["simulation"] == json.loads(json.dumps(simulation.document()))
    assert [each["seed"] for each in printed["runs"]] == [0, 1]
    summary = printed["runs"][0]["summary"]
    assert outcome.summary.ttft_seconds is not None
    assert summary["ttft_seconds"]["p99"] == outcome.summary.ttft_seconds.p99
    assert summary["completed"] == 100


def test_the_table_has_mean_and_spread_of_the_seeds(run: Run) -> None:
    result = run(*_SHORT, "--seeds", "2")
    assert result.exit_code == 0
    assert "mean" in result.stdout
    assert "std" in result.stdout
    row = next(line for line in result.stdout.splitlines() if "requests completed" in line)
    assert row.split("│")[2].strip() == "100"


def test_the_controller_swaps_by_the_profile_and_its_transitions_are_listed(run: Run) -> None:
    options = ("simulate", "--cluster", "2", "--requests", "200", "--speed", "6")
    result = run(*options, "--controller", "measured")
    assert result.exit_code == 0
    assert "normal → transition: prefill backlog" in result.stdout
    printed = json.loads(run(*options, "--controller", "measured", "--json").stdout)
    weights = [at["policy"]["prefill_weight"] for at in printed["runs"][0]["policies"]]
    assert weights[:3] == [1.0, 2.0, 1.0]
    assert printed["runs"][0]["events"][0]["kind"] == "swap"


def test_a_workload_can_be_described_in_a_file(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "load.yaml"
    path.write_text("kind: closed\nphases:\n  - {concurrency: 8, duration_seconds: 10}\n")
    result = run("simulate", str(path), "--cluster", "70B-1P2D", "--json")
    assert result.exit_code == 0
    printed = json.loads(result.stdout)
    assert printed["simulation"]["workload"]["phases"][0]["concurrency"] == 8
    assert printed["simulation"]["cluster"]["decode"]["workers"] == 2
    assert printed["runs"][0]["summary"]["completed"] > 0


def test_engine_arguments_come_from_text_or_a_file(run: Run, tmp_path: Path) -> None:
    text = '{"engine": {"speedup_ratio": 2.0}}'
    path = tmp_path / "engine.json"
    path.write_text(text)
    latencies = []
    for value in (text, str(path)):
        printed = json.loads(run(*_SHORT, "--engine-args", value, "--json").stdout)
        latencies.append(printed["runs"][0]["summary"]["latency_seconds"]["mean"])
    assert latencies[0] == latencies[1]
    plain = json.loads(run(*_SHORT, "--json").stdout)["runs"][0]["summary"]
    assert latencies[0] < 0.7 * plain["latency_seconds"]["mean"]


def test_bad_lines_of_a_trace_are_counted_and_the_first_is_named(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    good = {"timestamp": 0, "input_length": 9, "output_length": 3, "hash_ids": [1]}
    path.write_text(f"{json.dumps(good)}\n{{}}\n[]\n")
    result = run("simulate", str(path), "--json")
    assert result.exit_code == 0
    assert f"2 lines of {path} are left out; line 2: timestamp is None" in result.stderr
    assert json.loads(result.stdout)["runs"][0]["summary"]["completed"] == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nothing"], "'nothing' is no workload: name one of paper, multi-turn, conversation"),
        (["--cluster", "8P"], "'8P' is no topology: write 8"),
        (["--cluster", "70B-1P2D", "--engine-args", "{}"], "has engines of its own"),
        (["--engine-args", "{"], "--engine-args is not valid YAML"),
        (["--engine-args", "gone.json"], "gone.json cannot be read"),
        (["--engine-args", '{"engine": {"size": 1}}'], "engine.size: unknown field `size`"),
        (["--temperature", "-1"], "temperature: -1.0 must be a finite number, 0 or more"),
        (["--prefill-weight", "nan"], "prefill_weight: nan must be a finite number, 0 or more"),
        (["--replicas", "0"], "replicas is 0"),
        (["--kv-event-lag", "-1"], "kv_event_lag_seconds: -1.0 must be"),
        (["--speed", "0"], "speed is 0.0: it must be finite and above 0"),
        (["--concurrency", "0"], "concurrency is 0: it must be at least 1"),
        (["paper", "--requests", "5"], "paper is no trace: leave --requests out"),
        (["--controller", "mine"], "there is no profile 'mine'"),
    ],
)
def test_wrong_input_ends_in_one_sentence(run: Run, arguments: list[str], sentence: str) -> None:
    result = run("simulate", *arguments)
    assert result.exit_code == 1
    assert result.stderr.startswith("dynamo-regime: ")
    assert sentence in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""
