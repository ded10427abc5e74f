"""A live load is recorded, and the recording is the load."""

import asyncio
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from dynamo_regime.sim import Cluster, Engine, RouterSettings, Simulation, simulate
from dynamo_regime.sim.workload.files import read_trace
from testbed import load, prompts
from testbed.outcome import Outcome
from testbed.prompts import Phase, PromptMix
from tests.live.controlled import serving

pytestmark = pytest.mark.live

# 1,088 tokens: 17 blocks of 64, of which the first 16 are one of four prefixes.
MIX = PromptMix(templates=4, zipf_exponent=1.0, prefix_tokens=1024, tail_tokens=64, answer_tokens=4)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("recorded")


@pytest.fixture(scope="module")
def outcomes(folder: Path) -> list[Outcome]:
    """The load, recorded into ``folder`` until Ctrl-C."""
    found: list[Outcome] = []
    with serving({"mode": "shadow"}) as (frontend, admin):
        command = [sys.executable, "-m", "dynamo_regime", "record", str(folder), "--admin"]
        recorder = subprocess.Popen(
            [*command, admin.address], stdout=subprocess.PIPE, text=True, process_group=0
        )
        assert recorder.stdout is not None
        assert recorder.stdout.readline().startswith("Recording")
        requests = prompts.requests([Phase("load", 8, 60)], MIX, seed=3)
        asyncio.run(load.run(frontend.url, requests, found.append))
        # The last one ends a moment after its client has its answer.
        while admin.requests(limit=1).last < len(found):
            pass
        recorder.send_signal(signal.SIGINT)
        printed, _ = recorder.communicate(timeout=30)
        assert recorder.returncode == 0
        assert printed.startswith(f"{len(found)} requests are recorded in {folder}")
    return found


def test_every_request_is_recorded_once_with_its_lengths(
    outcomes: list[Outcome], folder: Path
) -> None:
    trace = read_trace(folder)
    assert trace.bad_lines == ()
    assert len(trace) == len(outcomes)
    assert sorted(trace.input_tokens) == sorted(each.prompt_tokens for each in outcomes)
    assert set(trace.output_tokens) == {MIX.answer_tokens}


def test_prompts_share_what_they_shared(outcomes: list[Outcome], folder: Path) -> None:
    trace = read_trace(folder)
    firsts = Counter(trace.blocks[trace.block_offsets[:-1]].tolist())
    assert sorted(firsts.values()) == sorted(Counter(each.template for each in outcomes).values())
    lasts = trace.blocks[trace.block_offsets[1:] - 1]
    assert np.unique(lasts).size == len(outcomes)


def test_it_can_be_replayed_under_another_policy(outcomes: list[Outcome], folder: Path) -> None:
    engine = Engine(arguments={"engine": {"block_size": 64, "num_gpu_blocks": 4096}})
    cluster = Cluster.parse("4", engine)
    outcome = simulate(Simulation(cluster, RouterSettings(prefill_weight=3.0), read_trace(folder)))
    assert len(outcome.requests) == len(outcomes)
    assert outcome.requests.cached_tokens.sum() > 0
