"""The demos from the outside, with Dynamo's own mocker and either frontend."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
DEMO = (sys.executable, "-u", "-m", "examples.demo")
DEMO_LIVE = (sys.executable, "-u", "-m", "examples.demo_live")

DEMOS = [
    pytest.param(DEMO, id="gateway", marks=pytest.mark.stock),
    pytest.param((*DEMO_LIVE, "8"), id="aggregated", marks=pytest.mark.live),
    pytest.param((*DEMO_LIVE, "1P5D"), id="disaggregated", marks=pytest.mark.live),
]


@pytest.mark.parametrize("command", DEMOS)
def test_a_demo_answers_every_request_under_five_policies(
    command: tuple[str, ...], tmp_path: Path
) -> None:
    file = tmp_path / "summary.json"
    demo = subprocess.run([*command, "--json", file], cwd=ROOT, capture_output=True, text=True)
    assert demo.returncode == 0, demo.stdout + demo.stderr
    summary = json.loads(file.read_text())
    assert (summary["requests"], summary["failures"]) == (1500, {})
    assert [policy["version"] for policy in summary["policies"]] == [1, 2, 3, 4, 5]
    workers = {role: len(shares) for role, shares in summary["stages"][1]["shares"].items()}
    if "1P5D" in command:
        assert workers == {"prefill": 1, "decode": 5}
    else:
        assert workers == {"aggregated": 8}
        overlap = {stage["policy_version"]: stage["cache_overlap"] for stage in summary["stages"]}
        assert min(overlap[2], overlap[4]) > overlap[3], "spread by τ = 0.7"
        # The gateway knows at once what it sent where. The frontend learns it from the workers'
        # events, which on a busy machine come too late for the difference between ω = 5 and 1.
        assert overlap[2] > overlap[4] or command != DEMO, "kept together by ω = 5"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("command", DEMOS[:2])
def test_a_demo_that_is_stopped_prints_what_it_has_and_leaves_no_process(
    command: tuple[str, ...], number: signal.Signals, tmp_path: Path
) -> None:
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
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
