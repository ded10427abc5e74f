"""Traces with arrival times and lengths, one row a request: Azure's and BurstGPT's CSV files."""

import codecs
import csv
from array import array
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from dynamo_regime.errors import InputError
from dynamo_regime.sim.workload.trace import BadLine, Trace

_BLOCK_TOKENS = 512


def _utc_seconds(text: str) -> float:
    time = datetime.fromisoformat(text.strip())
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()


@dataclass(frozen=True, slots=True)
class CsvFormat:
    """Columns of a published trace.

    Attributes:
        name: Of the trace.
        time: Column of the arrival time.
        prompt: Column of the prompt tokens.
        answer: Column of the generated tokens.
        seconds: From a text in the time's column to seconds since any moment.
    """

    name: str
    time: str
    prompt: str
    answer: str
    seconds: Callable[[str], float]

    @property
    def columns(self) -> tuple[str, str, str]:
        """The columns that are read."""
        return self.time, self.prompt, self.answer

    def has_header(self, line: str) -> bool:
        """Whether this is the first line of such a file."""
        return set(self.columns) <= set(_row(line))


FORMATS = (
    # github.com/Azure/AzurePublicDataset: code and conversation traces of 2023 and 2024.
    CsvFormat("Azure LLM inference", "TIMESTAMP", "ContextTokens", "GeneratedTokens", _utc_seconds),
    # github.com/HPMLL/BurstGPT: seconds since the first day; a failure has no response tokens.
    CsvFormat("BurstGPT", "Timestamp", "Request tokens", "Response tokens", float),
)


def read_csv(lines: Iterable[bytes], place: str, form: CsvFormat) -> Trace:
    """Read every row; the first arrival is time 0.

    Rows that are not requests are left out and reported in ``bad_lines``. Each prompt has blocks of
    its own, for nothing is known of what they share.

    Args:
        lines: Of the file, the header first.
        place: Its name, for messages.
        form: Its columns.

    Raises:
        InputError: It has no request.
    """
    rows = csv.reader(codecs.iterdecode(lines, "utf-8-sig", "replace"))
    header = [name.strip() for name in next(rows, [])]
    time, prompt, answer = (header.index(name) for name in form.columns)
    arrivals, inputs, outputs = array("d"), array("q"), array("q")
    bad_lines = []
    for row in rows:
        if not row:
            continue
        try:
            seconds = _seconds(form, row[time])
            lengths = _tokens(form.prompt, row[prompt]), _tokens(form.answer, row[answer])
        except IndexError:
            bad_lines.append(BadLine(rows.line_num, f"has {len(row)} of {len(header)} columns"))
        except ValueError as error:
            bad_lines.append(BadLine(rows.line_num, str(error)))
        else:
            arrivals.append(seconds)
            inputs.append(lengths[0])
            outputs.append(lengths[1])
    if not arrivals:
        first = f"; line {bad_lines[0].number}: {bad_lines[0].reason}" if bad_lines else ""
        raise InputError(f"{place} has no request of {form.name}{first}")
    times = np.frombuffer(arrivals, np.float64)
    prompts = np.frombuffer(inputs, np.int64)
    offsets = np.concatenate([[0], np.cumsum(-(-prompts // _BLOCK_TOKENS))])
    return Trace(
        arrival_seconds=times - times.min(),
        input_tokens=prompts,
        output_tokens=np.frombuffer(outputs, np.int64),
        blocks=np.arange(offsets[-1], dtype=np.uint64),
        block_offsets=offsets,
        block_tokens=_BLOCK_TOKENS,
        bad_lines=tuple(bad_lines),
    )


def _seconds(form: CsvFormat, text: str) -> float:
    try:
        seconds = form.seconds(text)
    except ValueError:
        seconds = np.nan
    if not np.isfinite(seconds):
        raise ValueError(f"{form.time} is {text!r}: it must be a time")
    return seconds


def _tokens(column: str, text: str) -> int:
    try:
        tokens = int(text)
    except ValueError:
        raise ValueError(f"{column} is {text!r}: it must be a number of tokens") from None
    if not 1 <= tokens < 2**31:
        raise ValueError(f"{column} is {tokens}: it must be at least 1 token")
    return tokens


def _row(line: str) -> list[str]:
    return [name.strip() for name in next(csv.reader([line]), [])]
