"""What Dynamo expects of the process that its frontend runs in."""

import os
import resource
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from dynamo_regime.errors import InputError

_OPEN_FILES_VARIABLE = "DYN_FRONTEND_FD_LIMIT_TARGET"
_OPEN_FILES = 8192

_DISCOVERY_FOLDER_VARIABLE = "DYN_FILE_KV"

# Any of these says what the user wants of the request trace.
_TRACE_VARIABLES = (
    "DYN_REQUEST_TRACE",
    "DYN_REQUEST_TRACE_RECORDS",
    "DYN_REQUEST_TRACE_SINKS",
    "DYN_AUDIT_SINKS",
    "DYN_AUDIT_FORCE_LOGGING",
)


def raise_open_files_limit() -> None:
    """Raise the soft limit of open files to ``DYN_FRONTEND_FD_LIMIT_TARGET``, else 8,192.

    Every connection takes one, and 1,024 is a common limit. Never lowers it or goes beyond the hard
    limit; a target that is no positive integer leaves it alone, as in Dynamo's own frontend.
    """
    try:
        target = int(os.environ.get(_OPEN_FILES_VARIABLE, _OPEN_FILES))
    except ValueError:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY:
        target = min(target, hard)
    if soft != resource.RLIM_INFINITY and soft < target:
        with suppress(OSError, ValueError):  # Some sandboxes forbid it; serving goes on without.
            resource.setrlimit(resource.RLIMIT_NOFILE, (target, hard))


def prepare_environment(changes: Mapping[str, str | None]) -> None:
    """Set what Dynamo's runtime reads from the environment, before it starts.

    Args:
        changes: Variables to set; None is to be unset.
    """
    for name, value in changes.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    # A port for workers' status pages. Launch scripts export it to all they start, and a frontend
    # that starts first would take it from its worker.
    os.environ.pop("DYN_SYSTEM_PORT", None)


def trace_requests_in_process() -> None:
    """Turn Dynamo's request trace on for this process only, before its runtime starts.

    It takes a tenth of a busy frontend's throughput, so it is for whoever reads it. What the user
    says of the trace stays.
    """
    if not any(name in os.environ for name in _TRACE_VARIABLES):
        # Kept in memory only. Where no sink is named, Dynamo writes a file or to standard error; of
        # one that it does not know it warns at its start, and goes on without.
        os.environ["DYN_REQUEST_TRACE"] = "1"
        os.environ["DYN_REQUEST_TRACE_RECORDS"] = "request_end"
        os.environ["DYN_REQUEST_TRACE_SINKS"] = "memory"


def check_discovery_folder() -> None:
    """Make the folder of file discovery, as Dynamo would when the first worker appears.

    Raises:
        InputError: It cannot be made; Dynamo would then wait for workers for ever.
    """
    default = Path(tempfile.gettempdir()) / "dynamo_store_kv"
    folder = Path(os.environ.get(_DISCOVERY_FOLDER_VARIABLE, default))
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        reason = os.strerror(error.errno).lower() if error.errno else str(error)
        raise InputError(
            f"the discovery folder {str(folder)!r} cannot be used: {reason}; name one that workers "
            f"and frontend share with {_DISCOVERY_FOLDER_VARIABLE}"
        ) from error
