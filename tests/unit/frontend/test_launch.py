"""Starting, announcing, draining and ending, with a stand-in for the native frontend."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from dynamo_regime.admin.client import AdminClient
from dynamo_regime.frontend import main

STAND_IN = Path(__file__).parent / "stand_in"
TIMEOUT_SECONDS = 60


@pytest.fixture(autouse=True)
def environment() -> Iterator[None]:
    """A clean environment, and the test process's own again afterwards."""
    before = dict(os.environ)
    for name in [name for name in os.environ if name.startswith(("DYN_", "DYNAMO_REGIME_"))]:
        del os.environ[name]
    os.environ["DYN_FRONTEND_FD_LIMIT_TARGET"] = "0"
    os.environ["PYTHONPATH"] = os.pathsep.join(
        [str(STAND_IN), *filter(None, [before.get("PYTHONPATH")])]
    )
    yield
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stand-in in this process."""
    monkeypatch.syspath_prepend(str(STAND_IN))
    monkeypatch.delitem(sys.modules, "dynamo_regime_frontend", raising=False)


@pytest.fixture
def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


class Process:
    """``python -m dynamo_regime.frontend`` with the stand-in."""

    def __init__(self, *arguments: str) -> None:
        command = [sys.executable, "-m", "dynamo_regime.frontend", *arguments]
        self.popen = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.output: list[str] = []

    def until(self, start: str) -> str:
        """Read its output up to the line that starts so."""
        assert self.popen.stdout is not None
        for line in self.popen.stdout:
            self.output.append(line.rstrip("\n"))
            if line.startswith(start):
                return self.output[-1]
        raise AssertionError(f"{start!r} never came, but {self.output}")

    def end(self) -> tuple[int, str]:
        """Wait for the end: exit code and standard error."""
        out, err = self.popen.communicate(timeout=TIMEOUT_SECONDS)
        self.output += out.splitlines()
        return self.popen.returncode, err


@pytest.fixture
def processes() -> Iterator[list[Process]]:
    """Processes that end with the test at the latest."""
    started: list[Process] = []
    yield started
    for process in started:
        process.popen.kill()
        process.popen.communicate()


def run(arguments: Sequence[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """Run it in this process: exit code, output, and the one line of standard error."""
    code = main(arguments)
    out, err = capsys.readouterr()
    assert err.count("\n") == 1
    return code, out, err.rstrip("\n")


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_it_announces_where_it_serves_and_a_signal_drains_it(
    stop: signal.Signals, free_port: int, processes: list[Process]
) -> None:
    process = Process("--http-port", "8123", "--admin-port", str(free_port))
    processes.append(process)
    assert process.until("dynamo-regime: serving") == (
        "dynamo-regime: serving on http://0.0.0.0:8123, "
        f"admin listener: http://127.0.0.1:{free_port}"
    )
    assert process.output[:2] == ["starting on port 8123", "with trace None"]
    with AdminClient(f"http://127.0.0.1:{free_port}", token=None) as client:
        assert [policy.temperature for policy in client.policies()] == [0.25]
        assert [policy.version for policy in client.set_policy(temperature=0.5)] == [2]
    process.popen.send_signal(stop)
    assert process.end() == (0, "")
    assert process.output[-1] == "shutting down"


def test_a_second_signal_ends_it_at_once(processes: list[Process]) -> None:
    os.environ["STAND_IN"] = "never drains"
    process = Process("--admin-port", "0")
    processes.append(process)
    assert process.until("dynamo-regime: serving").endswith("admin listener: none")
    process.popen.send_signal(signal.SIGTERM)
    process.until("shutting down")
    process.popen.send_signal(signal.SIGTERM)
    assert process.end() == (128 + signal.SIGTERM, "")


def test_a_signal_while_it_starts_ends_it_at_once(processes: list[Process]) -> None:
    os.environ["STAND_IN"] = "never starts"
    process = Process()
    processes.append(process)
    process.until("with trace")
    process.popen.send_signal(signal.SIGINT)
    assert process.end() == (128 + signal.SIGINT, "")
    assert "shutting down" not in process.output


@pytest.mark.usefixtures("stand_in")
def test_what_stops_its_start_is_said_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    os.environ["STAND_IN"] = "does not start"
    code, _, error = run([], capsys)
    assert (code, error) == (2, "dynamo-regime: cannot listen on 0.0.0.0:8000: address in use")


@pytest.mark.usefixtures("stand_in")
def test_what_ends_it_while_it_serves_is_said_in_one_line_and_is_no_wrong_use(
    capsys: pytest.CaptureFixture[str],
) -> None:
    os.environ["STAND_IN"] = "dies"
    code, _, error = run(["--admin-port", "0"], capsys)
    assert (code, error) == (
        1,
        "dynamo-regime: Dynamo's frontend ended: the discovery service is gone",
    )


@pytest.mark.usefixtures("stand_in")
def test_without_its_admin_listener_it_does_not_serve(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, out, error = run(["--admin-port", str(port)], capsys)
    assert code == 2
    assert error.startswith(f"dynamo-regime: the admin listener cannot listen on 127.0.0.1:{port}")
    assert out == "", "nothing was started"


@pytest.mark.usefixtures("stand_in")
def test_an_open_admin_address_without_a_token_stops_its_start(
    free_port: int, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--admin-host", "0.0.0.0", "--admin-port", str(free_port)]
    code, _, error = run(arguments, capsys)
    assert code == 2
    assert "DYNAMO_REGIME_ADMIN_TOKEN" in error


def test_without_the_wheel_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "dynamo_regime_frontend", None)
    code, _, error = run([], capsys)
    assert code == 2
    assert "pip install dynamo-regime-frontend==" in error


def test_a_wheel_that_does_not_load_says_why(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    module = tmp_path / "dynamo_regime_frontend.py"
    module.write_text("raise ImportError('GLIBC_2.99 not found')")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "dynamo_regime_frontend", raising=False)
    code, _, error = run([], capsys)
    assert code == 2
    assert error == "dynamo-regime: dynamo-regime-frontend does not load: GLIBC_2.99 not found"


def test_a_wrong_flag_is_refused_before_anything_is_loaded(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "dynamo_regime_frontend", None)
    code, _, error = run(["--router-mode", "random"], capsys)
    assert code == 2
    assert error.startswith("dynamo-regime: --router-mode (DYN_ROUTER_MODE) is not carried")


@pytest.mark.usefixtures("stand_in")
def test_a_discovery_folder_that_cannot_be_made_stops_its_start(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.environ["DYN_FILE_KV"] = str(tmp_path / "nowhere" / "discovery")
    code, out, error = run(["--discovery-backend", "file"], capsys)
    assert (code, out) == (2, "")
    assert error.startswith("dynamo-regime: the discovery folder ")


@pytest.mark.usefixtures("stand_in")
def test_the_signal_handlers_of_its_caller_are_there_again_afterwards(
    capsys: pytest.CaptureFixture[str],
) -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    os.environ["STAND_IN"] = "does not start"
    run([], capsys)
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before
