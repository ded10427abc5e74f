"""One process of the cluster: its log, its end."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

_LEASH = Path(__file__).with_name("leash.py")
_GRACE_SECONDS = 5.0
_TAIL_LINES = 15


class ClusterError(Exception):
    """The cluster did not come up, or lacks what was asked for; the message can be shown."""


class ManagedProcess:
    """A command running in a process group of its own, that ends with this process at the latest.

    Start and stop it from the main thread: the kernel ends the command when the thread that started
    it ends.
    """

    def __init__(
        self, name: str, command: Sequence[str], environment: Mapping[str, str], log: Path
    ) -> None:
        """Start ``command`` with exactly ``environment``; its output goes to the file ``log``."""
        self.name = name
        self.log = log
        leashed = [sys.executable, "-I", "-S", str(_LEASH), str(os.getpid()), *command]
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                leashed,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C reaches us only, and we end the group in order.
            )

    @property
    def pid(self) -> int:
        """Process id, which is its process group's id too."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether it has not ended yet."""
        return self._process.poll() is None

    def check(self) -> None:
        """Raise :class:`ClusterError` with the end of the log if the process has ended."""
        if not self.running:
            raise ClusterError(
                f"{self.name} ended with exit code {self._process.returncode}.{self.tail()}"
            )

    def tail(self) -> str:
        """The log's last lines, fit to be appended to an error message."""
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-_TAIL_LINES:]
        return "\n".join([" Its last words:", *(f"    {line}" for line in lines)]) if lines else ""

    def terminate(self) -> None:
        """Ask the whole group to end; does not wait."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """End the whole group at once, as a crash would."""
        self._signal(signal.SIGKILL)
        self._process.wait()

    def finish(self) -> None:
        """Wait for the end that :meth:`terminate` asked for; kill what is left of the group."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_GRACE_SECONDS)
        self.kill()

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):  # The group has ended by itself.
            os.killpg(self.pid, number)
