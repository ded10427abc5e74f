"""Trace files: opened, decompressed, and read in the format that their first line shows."""

import gzip
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from dynamo_regime.errors import InputError
from dynamo_regime.sim.workload.csv_trace import FORMATS, read_csv
from dynamo_regime.sim.workload.mooncake import BLOCK_TOKENS, read_mooncake
from dynamo_regime.sim.workload.trace import Trace


def read_trace(path: Path) -> Trace:
    """Read a trace of any known format, gzip-compressed if its name ends in ``.gz``.

    Mooncake's JSON lines have prompts; the CSV files have lengths only, and no two of their prompts
    share anything.

    Raises:
        InputError: It cannot be read, is of no known format, or has no request.
    """
    with opened(path) as file:
        first = next((line for line in file if line.strip()), b"")
    if first.lstrip().startswith(b"{"):
        with opened(path) as file:
            return read_mooncake(file, str(path), BLOCK_TOKENS)
    header = first.decode("utf-8-sig", "replace")
    for each in FORMATS:
        if each.has_header(header):
            with opened(path) as file:
                return read_csv(file, str(path), each)
    known = "; ".join(f"{each.name} ({', '.join(each.columns)})" for each in FORMATS)
    raise InputError(
        f"the first line of {path} is of no known trace: use Mooncake's JSON lines, or CSV"
        f" with the columns of {known}"
    )


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
