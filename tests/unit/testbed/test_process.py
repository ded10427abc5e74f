"""Ends of processes, with ``sleep`` in Dynamo's stead."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from testbed.process import ClusterError, ManagedProcess

SLEEP = ("/bin/sh", "-c", "sleep 1000 & wait")


def comes_true(condition: Callable[[], bool]) -> bool:
    """Whether ``condition`` comes to hold, with time enough for the busiest machine."""
    deadline = time.monotonic() + 30
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def members(group: int) -> list[int]:
    """The living processes of a process group."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            state, _, process_group = (entry / "stat").read_text().rpartition(")")[2].split()[:3]
        except OSError:
            continue  # It ended while we looked.
        if int(process_group) == group and state != "Z":
            found.append(int(entry.name))
    return found


def test_the_whole_group_ends_when_the_process_is_stopped(tmp_path: Path) -> None:
    process = ManagedProcess("sleeper", SLEEP, os.environ, tmp_path / "log")
    assert comes_true(lambda: len(members(process.pid)) == 2)
    process.terminate()
    process.finish()
    assert not process.running
    assert comes_true(lambda: not members(process.pid))


def test_it_ends_with_a_parent_that_was_killed(tmp_path: Path) -> None:
    start = (
        "import os, pathlib, time\n"
        "from testbed.process import ManagedProcess\n"
        f"log = pathlib.Path({str(tmp_path / 'log')!r})\n"
        "sleeper = ManagedProcess('sleeper', ('/bin/sleep', '1000'), os.environ, log)\n"
        "print(sleeper.pid, flush=True)\n"
        "time.sleep(1000)\n"
    )
    root = Path(__file__).parents[3]
    with subprocess.Popen(
        [sys.executable, "-c", start], cwd=root, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        group = int(parent.stdout.readline())
        name = Path(f"/proc/{group}/comm")
        assert comes_true(lambda: name.read_text().strip() == "sleep")
        parent.send_signal(signal.SIGKILL)
    assert comes_true(lambda: not members(group))


def test_one_that_ended_by_itself_is_reported_with_its_last_words(tmp_path: Path) -> None:
    command = ("/bin/sh", "-c", "echo no such router mode >&2; exit 3")
    process = ManagedProcess("frontend on port 20001", command, os.environ, tmp_path / "log")
    assert comes_true(lambda: not process.running)
    with pytest.raises(ClusterError, match="frontend on port 20001 ended with exit code 3") as end:
        process.check()
    assert "no such router mode" in str(end.value)
