"""``make demo`` from the outside: with Dynamo's own mocker and frontend."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.stock, pytest.mark.slow]

ROOT = Path(__file__).parents[3]
DEMO = [sys.executable, "-u", "-m", "examples.demo"]


def test_the_demo_answers_every_request_under_five_policies(tmp_path: Path) -> None:
    file = tmp_path / "summary.json"
    demo = subprocess.run([*DEMO, "--json", file], cwd=ROOT, capture_output=True, text=True)
    assert demo.returncode == 0, demo.stdout + demo.stderr
    summary = json.loads(file.read_text())
    assert (summary["requests"], summary["failures"]) == (1500, {})
    assert [policy["version"] for policy in summary["policies"]] == [1, 2, 3, 4, 5]
    overlap = {stage["policy_version"]: stage["cache_overlap"] for stage in summary["stages"]}
    assert overlap[2] > overlap[4] > overlap[3], "ω = 5 above ω = 1 above τ = 0.7"
    assert all(len(stage["shares"]["aggregated"]) == 8 for stage in summary["stages"])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_demo_that_is_stopped_prints_what_it_has_and_leaves_no_process(
    number: signal.Signals, tmp_path: Path
) -> None:
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        DEMO, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as demo:
        assert demo.stdout is not None
        for line in demo.stdout:
            if line.startswith("swapped before request"):
                break
        demo.send_signal(number)
        output = demo.stdout.read()
    assert demo.returncode == 130
    assert "This is what there was so far" in output
    assert "0 failures" in output
    assert "Traceback" not in output
    assert not list(tmp_path.iterdir())
    for entry in Path("/proc").glob("[0-9]*/environ"):
        try:
            assert str(tmp_path).encode() not in entry.read_bytes()
        except OSError:
            continue  # It ended, or is somebody else's.
