"""``dynamo-regime poa`` on a file, a listener and a system of the paper."""

import json
from pathlib import Path

import numpy as np

from dynamo_regime.admin.server import start_admin
from dynamo_regime.control.finished_log import FinishedLog
from dynamo_regime.control.settings import Mode
from tests.unit.admin.two_pools import TwoPools
from tests.unit.cli.conftest import Run
from tests.unit.control.live_parts import rig
from tests.unit.control.signals.test_inprocess import requests


def written(path: Path, count: int = 60) -> Path:
    rng = np.random.default_rng(0)
    lines = ["request,worker,start,latency,prompt_blocks,cached_blocks"]
    lines += [
        f"{row},w{rng.integers(3)},{row * 0.1:.1f},{rng.uniform(0.5, 1.5):.3f},8,{rng.integers(8)}"
        for row in range(count)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_file_is_judged_as_a_table_and_a_page(run: Run, tmp_path: Path) -> None:
    page = tmp_path / "poa.html"
    path = str(written(tmp_path / "requests.csv"))
    result = run("poa", path, "--windows", "40", "--plot", str(page), "--json")
    assert result.exit_code == 0, result.stderr
    [table] = json.loads(result.stdout)["tables"]
    whole = table["rows"][0]
    assert whole["in flight"] == "all"
    assert 1.0 <= float(whole["L"]) <= float(whole["U"])
    assert page.read_text().count("<svg") == 2
    given = run("poa", path, "--curve", "0.1,0.5,0,1000,1", "--seconds-per-block", "0.01")
    assert given.exit_code == 0, given.stderr
    assert "curve: given" in given.stdout


def test_on_a_system_of_the_paper_its_estimate_jumps_at_the_knee_and_the_interval_does_not(
    run: Run,
) -> None:
    result = run("poa", "70B-1P2D", "--concurrency", "8,64,96,128", "--windows", "60", "--json")
    assert result.exit_code == 0, result.stderr
    rows = json.loads(result.stdout)["tables"][0]["rows"]
    estimates = [float(row["PoA-hat"]) for row in rows]
    assert max(estimates[:3]) < 1.1
    assert estimates[3] > 1.5
    assert all(float(row["U"]) < 1.05 for row in rows)


def test_a_running_frontend_is_asked_for_its_requests(run: Run) -> None:
    one = rig(Mode.SHADOW, TwoPools())
    one.finished = FinishedLog()
    rows = [
        {"received_at": 100.0 + 0.1 * row, "finished_at": 1.0, "ttft_seconds": 0.2}
        | {"total_seconds": 1.0 + 0.01 * (row % 7), "input_tokens": 100, "block_tokens": 64}
        | {"cached_tokens": 0, "prefill_worker_id": row % 2, "decode_worker_id": row % 2}
        for row in range(40)
    ]
    one.finished.add(requests(*rows))
    server = start_admin(one.pools, "127.0.0.1", 0, token=None, controller=one.running)
    try:
        result = run("poa", server.url, "--windows", "20")
    finally:
        server.stop()
    assert result.exit_code == 0, result.stderr
    assert "40 requests on 2 workers" in result.stdout


def test_wrong_use_is_one_sentence(run: Run, tmp_path: Path) -> None:
    path = str(written(tmp_path / "requests.csv"))
    for arguments, sentence in (
        ((str(tmp_path / "no"),), "cannot be read (No such file or directory)"),
        ((path, "--curve", "1,2"), "--curve is '1,2': write five numbers"),
        ((path, "--curve", "1,2,x,4,5"), "--curve: d: 'x' must be a finite number"),
        ((path, "--seconds-per-block", "1"), "without --curve"),
    ):
        result = run("poa", *arguments)
        assert result.exit_code == 1
        assert sentence in result.stderr
        assert result.stderr.count("\n") == 1
