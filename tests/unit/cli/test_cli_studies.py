import json
from pathlib import Path

import pytest

from dynamo_regime.control.profile_file import load_profile
from tests.unit.cli.conftest import Run

_SMALL = ("--cluster", "2", "--requests", "60", "--seeds", "1")


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_replay_runs_every_policy_and_leaves_a_folder_and_a_page(run: Run, tmp_path: Path) -> None:
    options = ("replay", "conversation", *_SMALL, "--speed", "4", "--policy", "0,1")
    result = run(*options, "--policy", "measured", "--output", "out", "--json")
    assert result.exit_code == 0, result.stderr
    printed = json.loads(result.stdout)
    assert [each["labels"]["adaptive"] for each in printed["cases"].values()] == ["no", "yes"]
    assert printed["cases"]["p0"]["runs"][0]["overall"]["requests"] == 60
    assert "<svg" in (tmp_path / "out" / "report.html").read_text()
    again = run("report", "out", "--json")
    assert json.loads(again.stdout) == printed


def test_a_ramp_is_shown_by_its_stretches(run: Run) -> None:
    result = run("replay", "conversation", *_SMALL, "--ramp", "1,4", "--json")
    assert result.exit_code == 0, result.stderr
    case = json.loads(result.stdout)["cases"]["p0"]
    assert case["segments"][2] == "peak 3–4x"
    counts = [segment["requests"] for segment in case["runs"][0]["segments"]]
    assert sum(counts) == 60


@pytest.mark.parametrize(
    "command",
    [
        ("sweep", "--concurrency", "2,4", "--duration", "5"),
        ("grid", "--concurrency", "4", "--duration", "5", "--temperatures", "0,1"),
        ("spike",),
    ],
    ids=lambda command: command[0],
)
def test_a_study_of_the_paper_prints_it_beside_ours(run: Run, command: tuple[str, ...]) -> None:
    result = run(*command, "--seeds", "1")
    assert result.exit_code == 0, result.stderr
    assert "Beside the paper" in result.stdout
    assert "why it differs" in result.stdout


def test_compare_tells_noise_and_difference_apart(run: Run) -> None:
    options = ("compare", "0,1", "0,10", *_SMALL, "--speed", "4", "--json")
    result = run(*options)
    assert result.exit_code == 0, result.stderr
    rows = json.loads(result.stdout)["tables"][0]["rows"]
    assert rows[0]["pairs of"] == "20 requests, in batches"
    assert rows[0]["95 % interval"] != "–"
    assert rows[1]["verdict"] == "cannot be told: fewer than 6 pairs"


def test_compare_takes_two_folders(run: Run) -> None:
    for folder, policy in (("one", "0,1"), ("other", "0,10")):
        run("replay", "conversation", *_SMALL, "--policy", policy, "--output", folder)
    result = run("compare", "one", "other", "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["title"] == "other against one"
    mixed = run("compare", "one", "0,1")
    assert mixed.exit_code == 1
    assert "name two folders of studies, or two policies" in mixed.stderr


def test_tune_writes_a_profile_that_can_be_read(run: Run, tmp_path: Path) -> None:
    options = ("tune", "--cluster", "2", "--requests", "120", "--speeds", "1,6")
    result = run(*options, "--profile", "p.yaml", "--output", "out", "--json")
    assert result.exit_code == 0, result.stderr
    printed = json.loads(result.stdout)
    assert [row["speed"] for row in printed["tables"][0]["rows"]] == ["1x", "6x"]
    assert load_profile(tmp_path / "p.yaml").workload is not None
    assert "<svg" in (tmp_path / "out" / "report.html").read_text()
    part = run("report", "out/search")
    assert "is a part of what tune did" in part.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("replay", "nothing"), "'nothing' is no workload"),
        (("replay", "conversation", "--policy", "0,x"), "'0,x' is no policy"),
        (("replay", "conversation", "--ramp", "1"), "write two speeds, as 1,9"),
        (("replay", "paper", "--ramp", "1,9"), "has clients in place of times"),
        (("replay", "conversation", "--ramp", "1,9", "--speed", "2"), "leave one out"),
        (("sweep", "--concurrency", "a"), "write numbers with commas"),
        (("sweep", "--concurrency", "0"), "there must be a client"),
        (("sweep", "--duration", "0"), "must be above 0"),
        (("grid", "--temperatures", "-1,0"), "must be finite numbers, 0 or more"),
        (("grid", "--trace", "paper"), "no load to vary"),
        (("grid", "--concurrency", "0"), "concurrency"),
        (("tune", "paper"), "no load to vary"),
        (("tune", "--speeds", "1"), "two speeds or more"),
        (("tune", "--requests", "50"), "need at least 120"),
        (("report", "nowhere"), "name the folder of a study"),
    ],
)
def test_wrong_input_is_refused_in_one_sentence(
    run: Run, arguments: tuple[str, ...], sentence: str
) -> None:
    result = run(*arguments)
    assert result.exit_code == 1
    assert sentence in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
