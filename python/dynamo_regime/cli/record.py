"""``dynamo-regime record``: a running frontend's requests, to be replayed under other policies."""

import math
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dynamo_regime.cli.connection import DEFAULT_ADDRESS, Admin, connected
from dynamo_regime.cli.duration import seconds_of

if TYPE_CHECKING:
    from dynamo_regime.admin.client import AdminClient
    from dynamo_regime.record import Recording

_POLL_SECONDS = 0.5


def record(
    folder: Annotated[Path, typer.Argument(help="Where the files go; it is made if need be.")],
    duration: Annotated[
        str | None,
        typer.Option("--for", help="So long, as 10m; without it until Ctrl-C.", metavar="TIME"),
    ] = None,
    max_mib: Annotated[
        int, typer.Option(min=1, help="MiB in the folder at most; the oldest files make room.")
    ] = 1024,
    admin: Admin = DEFAULT_ADDRESS,
) -> None:
    """Record the requests of a running frontend: lengths, times, workers and block hashes.

    Not a word of a prompt is recorded. `dynamo-regime replay FOLDER` replays what was recorded.
    """
    end = None if duration is None else time.monotonic() + seconds_of(duration)
    with connected(admin) as client, _until_a_signal() as stopped:
        from dynamo_regime.record import Recording

        with Recording(folder, max_mib * 2**20) as recording:
            recording.begin(client.requests(limit=1))
            print(f"Recording {client.address} into {folder}; Ctrl-C ends it.", flush=True)
            _record(client, recording, stopped, end)
            print(recording.summary())


@contextmanager
def _until_a_signal() -> Iterator[threading.Event]:
    """Is set by Ctrl-C or SIGTERM, which so never come amid a line."""
    stopped = threading.Event()
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, lambda *_: stopped.set()) for number in numbers]
    try:
        yield stopped
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def _record(
    client: "AdminClient", recording: "Recording", stopped: threading.Event, end: float | None
) -> None:
    from dynamo_regime.admin.client import AdminError
    from dynamo_regime.admin.controller_wire import MAX_EVENTS

    is_last = away = False
    while True:
        try:
            while recording.add(client.requests(MAX_EVENTS, recording.last)):
                pass
            away = False
        except AdminError as error:
            # A frontend that is restarted comes back.
            if not away:
                print(f"dynamo-regime: {error}; it is asked again", file=sys.stderr)
            away = True
        if is_last:
            return
        left = math.inf if end is None else max(end - time.monotonic(), 0.0)
        # Once more after the end: what finished until then is recorded.
        is_last = stopped.wait(min(left, _POLL_SECONDS)) or left <= _POLL_SECONDS
