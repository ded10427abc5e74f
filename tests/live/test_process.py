"""The linked frontend as a process: how it starts, refuses and ends."""

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from testbed import commands
from testbed.cluster import Cluster, free_port
from testbed.commands import LOOPBACK, FrontendCommand
from testbed.model import MODEL_NAME
from testbed.topology import Topology, WorkerModel

pytestmark = pytest.mark.live


def refuse(folder: Path, *arguments: str, **environment: str) -> str:
    """The one sentence with which the frontend refuses to start, checked for its form."""
    (folder / "discovery").mkdir(exist_ok=True)
    variables: Mapping[str, str] = commands.environment(folder, "") | environment
    port = str(free_port())
    ports = () if "--http-port" in arguments else ("--http-port", port)
    ended = subprocess.run(
        [sys.executable, "-m", "dynamo_regime.frontend", *ports, *arguments],
        env={**variables, "DYN_LOG": "off"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 2, ended.stderr
    [sentence] = ended.stderr.splitlines()
    assert sentence.startswith("dynamo-regime: ")
    return sentence


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ("{temprature: 0.5}", "temprature"),
        ("{temperature: -1}", "temperature must be finite and not negative, but is -1"),
        ("{temperature: .nan}", "temperature must be finite and not negative, but is NaN"),
        ("{prefill_weight: .inf}", "prefill_weight must be finite and not negative, but is inf"),
        ("{prefill_weight: much}", "prefill_weight"),
    ],
)
def test_a_wrong_parameter_stops_the_start_by_its_name(
    tmp_path: Path, parameters: str, named: str
) -> None:
    file = tmp_path / "router-policy.yaml"
    file.write_text(
        "worker_selection: {aggregated: r, instances: "
        f"[{{name: r, type: regime, parameters: {parameters}}}]}}"
    )
    sentence = refuse(tmp_path, "--router-policy-config", str(file))
    assert named in sentence
    assert str(file) in sentence


def test_an_unknown_instance_is_named(tmp_path: Path) -> None:
    file = tmp_path / "router-policy.yaml"
    file.write_text("worker_selection: {aggregated: q, instances: [{name: r, type: regime}]}")
    assert '"q"' in refuse(tmp_path, "--router-policy-config", str(file))


def test_a_policy_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    missing = str(tmp_path / "missing.yaml")
    assert missing in refuse(tmp_path, "--router-policy-config", missing)


def test_a_port_in_use_is_named(tmp_path: Path) -> None:
    with socket.create_server((LOOPBACK, 0)) as taken:
        port = str(taken.getsockname()[1])
        assert port in refuse(tmp_path, "--http-host", LOOPBACK, "--http-port", port)


def test_an_admin_port_in_use_is_named(tmp_path: Path) -> None:
    with socket.create_server((LOOPBACK, 0)) as taken:
        port = str(taken.getsockname()[1])
        assert port in refuse(tmp_path, "--admin-port", port)


def test_an_open_admin_address_without_a_token_is_refused(tmp_path: Path) -> None:
    sentence = refuse(tmp_path, "--admin-host", "0.0.0.0", "--admin-port", str(free_port()))
    assert "DYNAMO_REGIME_ADMIN_TOKEN" in sentence


def test_a_discovery_folder_that_cannot_be_is_named(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    folder = str(file / "discovery")
    assert folder in refuse(tmp_path, DYN_FILE_KV=folder)


def test_a_flag_that_this_frontend_does_not_carry_is_named(tmp_path: Path) -> None:
    assert "--interactive" in refuse(tmp_path, "--interactive")


def test_requests_under_way_are_finished_when_it_is_terminated() -> None:
    # Eight tokens at a tenth of the mocker's speed take longer than the signal.
    slow = WorkerModel(speedup=0.2, block_size=64, cache_blocks=1024)
    with Cluster(Topology.parse("2"), slow) as cluster:
        frontend = cluster.start(
            FrontendCommand(
                "dynamo_regime.frontend",
                ("--router-mode", "kv", "--admin-port", str(free_port())),
            )
        )
        begun = threading.Barrier(5)

        def ask() -> int:
            body = {"model": MODEL_NAME, "prompt": [2, 3, 4], "max_tokens": 40, "stream": True}
            url = f"{frontend.url}/v1/completions"
            with httpx.stream("POST", url, json=body, timeout=60) as answer:
                lines = answer.iter_lines()
                next(lines)
                begun.wait(timeout=60)
                return sum('"text"' in line for line in lines)

        with ThreadPoolExecutor(4) as clients:
            answers = [clients.submit(ask) for _ in range(4)]
            begun.wait(timeout=60)
            os.kill(frontend.process.pid, signal.SIGTERM)
            tokens = [answer.result() for answer in answers]
        assert min(tokens) >= 39, "the first line was read before the signal"
        frontend.process.finish()
        assert not frontend.process.running
