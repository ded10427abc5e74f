import json
from pathlib import Path

import pytest
import yaml

from tests.unit.cli.conftest import Run

_PAPER = ("--cluster", "70B-1P2D", "--clients", "100", "--input-tokens", "128", "--duration", "20")


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_plan_shows_every_split_and_writes_the_best_as_replicas(run: Run, tmp_path: Path) -> None:
    names = ("--deployment", "llm", "--prefill-component", "P", "--decode-component", "D")
    options = ("plan", *_PAPER, "--workers", "5", "--seeds", "1", "--output", "out")
    result = run(*options, "--replicas", "split.yaml", *names, "--json")
    assert result.exit_code == 0, result.stderr
    rows = json.loads(result.stdout)["tables"][0]["rows"]
    assert [row["split"] for row in rows] == ["1P/4D", "2P/3D", "3P/2D", "4P/1D"]
    [best] = [number for number, row in enumerate(rows, 1) if "best simulated" in row[""]]
    assert float(rows[best - 1]["welfare simulated"]) == max(
        float(row["welfare simulated"]) for row in rows
    )
    written = yaml.safe_load((tmp_path / "split.yaml").read_text())
    assert written["kind"] == "DynamoGraphDeployment"
    assert written["metadata"] == {"name": "llm"}
    assert written["spec"]["components"] == [
        {"name": "P", "replicas": best},
        {"name": "D", "replicas": 5 - best},
    ]
    assert "<svg" in (tmp_path / "out" / "report.html").read_text()
    assert json.loads(run("report", "out", "--json").stdout)["tables"][0]["rows"] == rows


def test_engines_without_a_curve_are_measured_for_every_mix(run: Run) -> None:
    options = ("plan", "--cluster", "2P/1D", "--clients", "4", "--duration", "24", "--mixes")
    result = run(*options, "--seeds", "1", "--json")
    assert result.exit_code == 0, result.stderr
    tables = json.loads(result.stdout)["tables"]
    assert [row["mix"] for row in tables[2]["rows"]] == [
        "4000 in, 256 out",
        "2000 in, 256 out",
        "8000 in, 256 out",
        "4000 in, 128 out",
        "4000 in, 512 out",
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--cluster", "8"), "8 does not tell prefill from decode"),
        (("--workers", "1"), "1 worker cannot be split"),
        (("--ttft", "0"), "the TTFT objective is 0 s"),
        (("--itl", "nan"), "the ITL objective is nan s"),
        (("--duration", "0"), "--duration is 0"),
        (("--cluster", "70B-1P2D", "--clients", "500"), "3 workers are too few"),
    ],
)
def test_what_cannot_be_planned_is_refused_in_one_sentence(
    run: Run, tmp_path: Path, options: tuple[str, ...], message: str
) -> None:
    result = run("plan", *options)
    assert result.exit_code == 1
    assert result.stderr.startswith("dynamo-regime: ")
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_runs_too_short_for_a_request_are_no_result(run: Run) -> None:
    result = run("plan", *_PAPER[:-1], "4", "--workers", "3", "--seeds", "1")
    assert result.exit_code == 1
    assert "simulate for longer" in result.stderr
