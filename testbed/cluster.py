"""Workers and frontends on loopback, for as long as a ``with`` block lasts."""

import json
import random
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from testbed import commands
from testbed.commands import LOOPBACK, FrontendCommand
from testbed.events import EventExchange
from testbed.model import MODEL_NAME, write_model
from testbed.process import ClusterError, ManagedProcess
from testbed.topology import Topology, WorkerModel

_START_SECONDS = 60.0
_POLL_SECONDS = 0.1
# Below the range that the kernel gives outgoing connections, so that none of those takes a port
# before its owner does.
_PORTS = range(20_000, 32_000)


@dataclass(frozen=True, slots=True)
class _Mocker:
    role: str
    workers: int
    process: ManagedProcess


class Frontend:
    """A frontend that serves.

    Attributes:
        url: Where it serves, without a path.
        process: Its process.
    """

    def __init__(self, url: str, process: ManagedProcess) -> None:
        """Made by :meth:`Cluster.start`."""
        self.url = url
        self.process = process

    def stop(self) -> None:
        """Let it drain and end."""
        self.process.terminate()
        self.process.finish()

    def get(self, path: str) -> Any:
        """The JSON answer to ``GET path``."""
        with urllib.request.urlopen(self.url + path, timeout=5) as answer:
            return json.load(answer)

    def instances(self) -> list[dict[str, Any]]:
        """The workers that the frontend has discovered, as ``GET /health`` lists them."""
        return [one for one in self.get("/health")["instances"] if one["endpoint"] == "generate"]


class Cluster:
    """Simulated workers, and the frontends started on them, with a temporary folder.

    Every process ends when the block is left, by whatever road: its end, an exception, SIGINT,
    SIGTERM; and should this process be killed outright, the kernel ends them. Use it from the main
    thread.
    """

    def __init__(
        self,
        topology: Topology,
        model: WorkerModel,
        *,
        python: str = sys.executable,
        separate_workers: bool = False,
    ) -> None:
        """Describe a cluster; entering the context starts it.

        Args:
            topology: How many workers of which role.
            model: How a worker behaves.
            python: Interpreter that has Dynamo (and our frontend, if one is started).
            separate_workers: One process for each worker, so that one can be killed, instead of one
                for each role.
        """
        self.topology = topology
        self.model = model
        self._python = python
        self._separate_workers = separate_workers
        self._mockers: dict[int, _Mocker] = {}  # by the port that the process serves on
        self._killed: list[_Mocker] = []
        self._frontends: list[Frontend] = []
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        """Start the workers; :meth:`start` waits for them."""
        with ExitStack() as stack:
            stack.enter_context(_terminate_as_interrupt())
            self.folder = Path(tempfile.mkdtemp(prefix="dynamo-regime-testbed-"))
            stack.callback(shutil.rmtree, self.folder, ignore_errors=True)
            exchange = stack.enter_context(EventExchange())
            self._model_folder = write_model(self.folder / "model")
            (self.folder / "discovery").mkdir()
            self._environment = commands.environment(self.folder, exchange.url)
            stack.callback(self._stop_processes)
            for role, count in self.topology.workers.items():
                for workers in [1] * count if self._separate_workers else [count]:
                    self._start_mocker(role, workers)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop everything and remove the folder."""
        self._stack.close()

    def start(self, command: FrontendCommand) -> Frontend:
        """Start a frontend and wait until it has answered a request.

        Raises:
            ClusterError: A process ended, or the frontend does not serve within a minute; with the
                end of its log.
        """
        port = free_port()
        name = f"{command.module} on port {port}"
        process = ManagedProcess(
            name,
            (self._python, *commands.frontend(command, port)),
            self._environment | dict(command.environment),
            self.folder / f"frontend-{port}.log",
        )
        frontend = Frontend(f"http://{LOOPBACK}:{port}", process)
        self._frontends.append(frontend)
        workers = sum(mocker.workers for mocker in self._not_killed())
        self._wait(frontend, "find all workers", lambda: len(frontend.instances()) == workers)
        self._wait(frontend, "answer a request", lambda: _answers(frontend, command.names_worker))
        return frontend

    def worker_ids(self, frontend: Frontend) -> dict[int, str]:
        """The workers that ``frontend`` has discovered: instance id to role."""
        return {one["instance_id"]: self._mockers[_port(one)].role for one in frontend.instances()}

    def kill_worker(self, frontend: Frontend, worker_id: int) -> None:
        """End a worker as a crash would; frontends list it for some ten seconds more.

        Raises:
            ClusterError: There is no such worker, or it shares its process with others.
        """
        if not self._separate_workers:
            raise ClusterError(
                "a worker can be killed in a cluster made with separate_workers=True only"
            )
        for instance in frontend.instances():
            if instance["instance_id"] == worker_id:
                mocker = self._mockers[_port(instance)]
                mocker.process.kill()
                self._killed.append(mocker)
                return
        raise ClusterError(
            f"there is no worker {worker_id}; there are {sorted(self.worker_ids(frontend))}"
        )

    def _start_mocker(self, role: str, workers: int) -> None:
        port = free_port()
        process = ManagedProcess(
            f"{role} mocker on port {port}",
            (self._python, *commands.mocker(role, workers, self.model, self._model_folder)),
            self._environment | {"DYN_TCP_RPC_PORT": str(port)},
            self.folder / f"{role}-{port}.log",
        )
        self._mockers[port] = _Mocker(role, workers, process)

    def _not_killed(self) -> list[_Mocker]:
        return [mocker for mocker in self._mockers.values() if mocker not in self._killed]

    def _wait(self, frontend: Frontend, what: str, done: Callable[[], bool]) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline:
            for process in [frontend.process, *(one.process for one in self._not_killed())]:
                process.check()
            try:
                if done():
                    return
            except (OSError, ValueError, KeyError):
                pass  # It does not listen, or does not know the model, yet.
            time.sleep(_POLL_SECONDS)
        raise ClusterError(
            f"{frontend.process.name} did not {what} within {_START_SECONDS:.0f} s."
            + frontend.process.tail()
        )

    def _stop_processes(self) -> None:
        # Frontends first: they drain, and must not see their workers go.
        mockers = [mocker.process for mocker in self._mockers.values()]
        for group in ([frontend.process for frontend in self._frontends], mockers):
            for process in group:
                process.terminate()
            for process in group:
                process.finish()


def free_port() -> int:
    """A port of loopback that nobody listens on at the moment."""
    for port in random.SystemRandom().sample(_PORTS, 100):
        with socket.socket() as probe:
            try:
                probe.bind((LOOPBACK, port))
            except OSError:
                continue
            return port
    raise ClusterError(f"no free port between {_PORTS.start} and {_PORTS.stop} on {LOOPBACK}")


def _port(instance: dict[str, Any]) -> int:
    # "127.0.0.1:<port>/<instance>/<namespace>/<component>/<endpoint>"
    address, _, _ = str(instance["transport"]["tcp"]).partition("/")
    return int(address.rpartition(":")[2])


def _answers(frontend: Frontend, names_worker: bool) -> bool:
    body = {"model": MODEL_NAME, "prompt": [2], "max_tokens": 1}
    headers = {"content-type": "application/json"}
    if names_worker:
        headers["x-worker-instance-id"] = str(frontend.instances()[0]["instance_id"])
    request = urllib.request.Request(
        f"{frontend.url}/v1/completions", json.dumps(body).encode(), headers
    )
    with urllib.request.urlopen(request, timeout=5) as answer:
        return int(answer.status) == 200


@contextmanager
def _terminate_as_interrupt() -> Iterator[None]:
    """Let SIGTERM end the block as Ctrl-C does, unless somebody already handles it otherwise."""
    ours = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    )
    if ours:
        # Raised anew as SIGINT, for which asyncio has a handler of its own.
        signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        yield
    finally:
        if ours:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
