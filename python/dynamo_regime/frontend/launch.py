"""From the command line to a frontend that serves, and to its end."""

import json
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

from dynamo_regime.admin.access import token_from_environment
from dynamo_regime.admin.server import AdminServer, check_admin, start_admin
from dynamo_regime.errors import RegimeError
from dynamo_regime.frontend.controller import planned, run
from dynamo_regime.frontend.native import NativeFrontend, load
from dynamo_regime.frontend.process import (
    check_discovery_folder,
    prepare_environment,
    raise_open_files_limit,
)
from dynamo_regime.frontend.settings import Settings, read_settings

if TYPE_CHECKING:
    from dynamo_regime.control.controller import Controller
    from dynamo_regime.control.running import Running

_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)

# Exit codes.
_ENDED_WITH_ERROR = 1
_NOT_STARTED = 2


def main(arguments: Sequence[str]) -> int:
    """Serve until a signal; call it in the main thread.

    SIGINT and SIGTERM finish the requests under way, as Dynamo's own frontend does; a second one
    ends the process at once.

    Args:
        arguments: The command line without the program's name.

    Returns:
        The exit code: 0 after a signal, 1 if the frontend ended with an error, 2 if it did not
        start.
    """
    failed = _NOT_STARTED
    # Dynamo's runtime blocks while it starts and waits; the main thread must be free for signals.
    with ThreadPoolExecutor(max_workers=1) as aside, _draining_signals() as signals:
        try:
            settings = read_settings(arguments, os.environ)
            start = load().start
            _prepare(settings)
            with planned(settings) as plan:
                options = json.dumps(plan.settings.options)
                frontend = aside.submit(start, options).result()
                signals.frontend = frontend
                controller = run(plan, frontend)
                try:
                    admin = _start_admin(frontend, settings, controller)
                    try:
                        _announce(settings, admin, plan.controller)
                        failed = _ENDED_WITH_ERROR
                        aside.submit(frontend.wait).result()
                    finally:
                        if admin is not None:
                            admin.stop()
                finally:
                    if controller is not None:
                        controller.stop()
        except RegimeError as error:
            print(f"dynamo-regime: {error}", file=sys.stderr)
            return failed
    return 0


class _Signals:
    """The first signal drains the frontend; the second, or one while it starts, ends the process.

    Attributes:
        frontend: The frontend, once it serves.
    """

    def __init__(self) -> None:
        self.frontend: NativeFrontend | None = None
        self._draining = False

    def __call__(self, number: int, _frame: FrameType | None) -> None:
        """Handle one signal."""
        if self.frontend is None or self._draining:
            sys.stdout.flush()
            os._exit(128 + number)
        self._draining = True
        self.frontend.shutdown()


@contextmanager
def _draining_signals() -> Iterator[_Signals]:
    handler = _Signals()
    previous = {number: signal.signal(number, handler) for number in _STOP_SIGNALS}
    try:
        yield handler
    finally:
        for number, old in previous.items():
            signal.signal(number, old)


def _prepare(settings: Settings) -> None:
    raise_open_files_limit()
    prepare_environment(settings.environment)
    if settings.options["discovery_backend"] == "file":
        check_discovery_folder()
    if settings.admin_port != 0:
        # Now, not when the API serves and a load balancer has seen it.
        check_admin(settings.admin_host, settings.admin_port, token_from_environment())


def _start_admin(
    frontend: NativeFrontend,
    settings: Settings,
    controller: "Running | None",
) -> AdminServer | None:
    if settings.admin_port == 0:
        return None
    try:
        return start_admin(
            frontend,
            settings.admin_host,
            settings.admin_port,
            token_from_environment(),
            controller,
        )
    except RegimeError:
        frontend.shutdown()
        frontend.wait()
        raise


def _announce(
    settings: Settings, admin: AdminServer | None, controller: "Controller | None"
) -> None:
    listener = "none" if admin is None else admin.url
    mode = "" if controller is None else f", controller: {controller.mode}"
    print(f"dynamo-regime: serving on {settings.url}, admin listener: {listener}{mode}", flush=True)
