"""Processes of a fleet, ended with the test."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.fleet.nats_process import NatsProcess

_WAIT_SECONDS = 60.0


class MemberProcess:
    def __init__(self, name: str, folder: Path, url: str) -> None:
        self.name = name
        self._log = folder / f"{name}.jsonl"
        self._process = subprocess.Popen(
            [sys.executable, Path(__file__).parent / "fleet_member.py", name, self._log],
            env={**os.environ, "NATS_SERVER": url},
        )

    def lines(self) -> list[dict[str, Any]]:
        """What it has logged so far."""
        if not self._log.is_file():
            return []
        text = self._log.read_text()
        return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]

    @property
    def now(self) -> dict[str, Any]:
        """Its present state."""
        assert self._process.poll() is None, f"member {self.name} has ended"
        lines = self.lines()
        if lines:
            return lines[-1]
        return {"connected": None, "is_decider": False, "version": 0, "rate": None}

    def kill(self) -> None:
        self._process.send_signal(signal.SIGCONT)
        self._process.kill()
        self._process.wait()

    def stand_still(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def hang(self) -> None:
        """Its controller, and not its membership."""
        self._process.send_signal(signal.SIGUSR1)

    def leave(self) -> None:
        """In an orderly way."""
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(_WAIT_SECONDS)


@pytest.fixture
def nats(tmp_path: Path) -> Iterator[NatsProcess]:
    with NatsProcess(tmp_path / "jetstream") as server:
        yield server


@pytest.fixture
def join(nats: NatsProcess, tmp_path: Path) -> Iterator[Callable[[str], MemberProcess]]:
    """Starts a member; when the test is over, what all of them logged is checked."""
    members: list[MemberProcess] = []

    def start(name: str) -> MemberProcess:
        members.append(MemberProcess(name, tmp_path, nats.url))
        return members[-1]

    yield start
    for member in members:
        member.kill()
    decisions: dict[int, float] = {}
    for member in members:
        lines = member.lines()
        versions = [line["version"] for line in lines]
        assert versions == sorted(versions), f"{member.name} went back"
        for line in lines:
            # Without its data the server cannot keep members apart that do not hear each other.
            if line["version"] > 0 and not nats.has_lost_data:
                known = decisions.setdefault(line["version"], line["temperature"])
                assert known == line["temperature"], f"version {line['version']} is two policies"


@pytest.fixture
def wait() -> Callable[[str, Callable[[], bool]], None]:
    """Waits until something is so, and says what it was if it never is."""

    def until(what: str, done: Callable[[], bool]) -> None:
        deadline = time.monotonic() + _WAIT_SECONDS
        while not done():
            assert time.monotonic() < deadline, f"after {_WAIT_SECONDS:.0f} s still not: {what}"
            time.sleep(0.02)

    return until
