"""Trace files: opened, decompressed, and read in the format that their first line shows."""

import gzip
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from dynamo_regime.errors import InputError
from dynamo_regime.sim.workload.csv_trace import FORMATS, read_csv
from dynamo_regime.sim.workload.mooncake import BLOCK_TOKENS, read_mooncake
from dynamo_regime.sim.workload.request_trace import is_request_trace, read_request_trace
from dynamo_regime.sim.workload.trace import Trace


def read_trace(path: Path) -> Trace:
    """Read a trace of any known format, gzip-compressed if its name ends in ``.gz``.

    Mooncake's JSON lines and Dynamo's request traces have prompts; the CSV files have lengths only,
    and no two of their prompts share anything. A folder is one request trace in several files, as
    ``dynamo-regime record`` writes it.

    Raises:
        InputError: It cannot be read, is of no known format, or has no request.
    """
    if path.is_dir():
        return _read_folder(path)
    with opened(path) as file:
        first = next((line for line in file if line.strip()), b"")
    if first.lstrip().startswith(b"{"):
        with opened(path) as file:
            if is_request_trace(first):
                return read_request_trace([(str(path), file)], str(path))
            return read_mooncake(file, str(path), BLOCK_TOKENS)
    header = first.decode("utf-8-sig", "replace")
    for each in FORMATS:
        if each.has_header(header):
            with opened(path) as file:
                return read_csv(file, str(path), each)
    known = "; ".join(f"{each.name} ({', '.join(each.columns)})" for each in FORMATS)
    raise InputError(
        f"the first line of {path} is of no known trace: use Mooncake's JSON lines, Dynamo's"
        f" request trace, or CSV with the columns of {known}"
    )


def _read_folder(folder: Path) -> Trace:
    paths = sorted([*folder.glob("*.jsonl"), *folder.glob("*.jsonl.gz")])
    if not paths:
        raise InputError(f"{folder} holds no file *.jsonl: name a folder that was recorded into")
    with ExitStack() as stack:
        files = ((path.name, stack.enter_context(opened(path))) for path in paths)
        return read_request_trace(files, str(folder))


@contextmanager
def opened(path: Path) -> Iterator[Iterable[bytes]]:
    """The file, as bytes.

    Raises:
        InputError: It cannot be read.
    """
    try:
        with path.open("rb") as file:
            yield gzip.GzipFile(fileobj=file) if path.suffix == ".gz" else file
    except (OSError, EOFError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path} cannot be read ({reason}): name a trace") from None
