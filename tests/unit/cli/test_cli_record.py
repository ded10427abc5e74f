"""``dynamo-regime record``, and the replay of what it recorded."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from dynamo_regime.admin.server import AdminServer, start_admin
from dynamo_regime.control.finished_log import FinishedLog, FinishedPage
from dynamo_regime.control.settings import Mode
from dynamo_regime.target import FinishedRequests
from tests.unit.admin.two_pools import TwoPools
from tests.unit.cli.conftest import Run
from tests.unit.control.live_parts import rig
from tests.unit.control.signals.test_inprocess import requests


def finished(count: int) -> FinishedRequests:
    """Requests 10 ms apart whose prompts of 100 tokens share their first block."""
    rows = (
        {
            "received_at": 1_000.0 + 0.01 * row,
            "finished_at": 2_000.0,
            "input_tokens": 100,
            "output_tokens": 5,
            "block_tokens": 64,
        }
        for row in range(count)
    )
    drained = requests(*rows)
    for row in range(count):
        drained.sequence_hashes[row] = np.array([1, 100 + row], np.uint64)
    return drained


@dataclass
class Busy(FinishedLog):
    """Requests finish right after the first question."""

    asked: list[int | None] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self.add(finished(3))

    def page(self, limit: int, after: int | None = None) -> FinishedPage:
        page = super().page(limit, after)
        if not self.asked:
            self.add(finished(20))
        self.asked.append(after)
        return page


@pytest.fixture
def server() -> Iterator[AdminServer]:
    one = rig(Mode.SHADOW, TwoPools())
    one.finished = Busy()
    server = start_admin(one.pools, "127.0.0.1", 0, token=None, controller=one.running)
    yield server
    server.stop()


def test_what_finishes_meanwhile_is_recorded_and_replayed_under_another_policy(
    run: Run, server: AdminServer, tmp_path: Path
) -> None:
    folder = str(tmp_path / "recorded")
    result = run("record", folder, "--for", "0.1s", "--admin", server.url)
    assert result.exit_code == 0, result.stderr
    assert f"20 requests are recorded in {folder}." in result.stdout
    engine = '{"engine": {"block_size": 64, "num_gpu_blocks": 1024}}'
    options = ("--cluster", "2", "--engine-args", engine, "--seeds", "1", "--output", folder + "r")
    replayed = run("replay", folder, "--policy", "0,1", "--policy", "0,3", *options, "--json")
    assert replayed.exit_code == 0, replayed.stderr
    cases = json.loads(replayed.stdout)["cases"]
    assert [case["runs"][0]["overall"]["requests"] for case in cases.values()] == [20, 20]


def test_without_a_controller_recording_says_what_is_missing(
    run: Run, listener: AdminServer, tmp_path: Path
) -> None:
    result = run("record", str(tmp_path / "recorded"), "--admin", listener.url)
    assert result.exit_code == 1
    assert "this frontend runs no controller" in result.stderr
    assert list((tmp_path / "recorded").iterdir()) == []
