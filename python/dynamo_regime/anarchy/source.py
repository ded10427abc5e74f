"""Requests of the game, from a file, a recording, a running frontend or a simulation."""

import csv
import gzip
import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np

from dynamo_regime.anarchy.window import Requests
from dynamo_regime.errors import InputError
from dynamo_regime.sim.outcome import Outcome

Pool = Literal["aggregated", "prefill", "decode"]
"""Whose choice is judged: of ``prefill`` the latency is the TTFT, of ``decode`` the rest.

``aggregated`` takes all of it, by the worker that decoded; of a disaggregated cluster that is what
the paper's estimate does.
"""

COLUMNS = ("request", "worker", "start", "latency", "prompt_blocks", "cached_blocks")
"""Of a file; ``start`` and ``latency`` in seconds. ``best_cached_blocks`` may be there, too."""

_Row = tuple[str, float, float, float, float, float]
"""Worker, start, latency, blocks of the prompt, cached ones, and the most cached on any worker."""

Facts = tuple[str, str, float, float, float, float, float]
"""Prefill and decode worker, start, TTFT, latency, blocks of the prompt, cached ones."""


def read_requests(path: Path, pool: Pool | None = None) -> Requests:
    """Read CSV or JSON lines with ``COLUMNS``, or what ``dynamo-regime record`` wrote.

    Args:
        path: A file, or the folder of a recording.
        pool: Of a recording; by default ``aggregated`` or, if other workers decode, ``prefill``.

    Raises:
        InputError: It cannot be read, lacks a column, has a value that cannot be, or no request.
    """
    paths = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
    if not paths:
        raise InputError(f"{path} holds no file *.jsonl: name a folder that was recorded into")
    rows: list[_Row] = []
    facts: list[Facts] = []
    for each in paths:
        lines = _text(each).splitlines()
        if lines and not lines[0].lstrip().startswith("{"):
            rows += [_row(row, place) for row, place in _csv(lines, each)]
            continue
        for row, place in _json_lines(lines, each):
            event = row.get("event", row)
            if not isinstance(event, dict) or "event_type" not in event:
                rows.append(_row(row, place))
            elif (found := facts_of(event)) is not None:
                facts.append(found)
    rows += _rows(facts, pool)
    return _table(rows, f"{path} has no complete request")


def of_events(events: Iterable[Mapping[str, Any]], pool: Pool | None, place: str) -> Requests:
    """Requests from ``request_end`` events of Dynamo's request trace, as the admin API has them.

    Raises:
        InputError: There is no complete request.
    """
    facts = [found for event in events if (found := facts_of(event)) is not None]
    return of_facts(facts, pool, place)


def of_facts(facts: Iterable[Facts], pool: Pool | None, place: str) -> Requests:
    """Requests from what :func:`facts_of` found; as :func:`of_events`."""
    return _table(_rows(list(facts), pool), f"{place} has no complete request")


def of_outcome(outcome: Outcome, pool: Pool, workers: int, block_tokens: int) -> Requests:
    """The requests of a simulation.

    Args:
        outcome: What came of it.
        pool: Whose choice is judged.
        workers: Of that pool.
        block_tokens: Tokens of a block.
    """
    done = outcome.requests
    prompt = np.ceil(done.input_tokens / block_tokens)
    cached = np.minimum(done.cached_tokens / block_tokens, prompt)
    nothing = np.zeros(len(done))
    first = done.arrival_seconds + done.ttft_seconds
    decodes = pool == "decode"
    latency = {
        "aggregated": done.latency_seconds,
        "prefill": done.ttft_seconds,
        "decode": done.latency_seconds - done.ttft_seconds,
    }[pool]
    known = latency > 0.0
    worker = done.prefill_worker if pool == "prefill" else done.decode_worker
    return Requests(
        worker=worker.astype(np.int64)[known],
        start_seconds=(first if decodes else done.arrival_seconds)[known],
        latency_seconds=latency[known],
        prompt_blocks=(nothing if decodes else prompt)[known],
        cached_blocks=(nothing if decodes else cached)[known],
        best_cached_blocks=(nothing if decodes else prompt)[known],
        workers=workers,
    )


def _text(path: Path) -> str:
    try:
        content = path.read_bytes()
        return (gzip.decompress(content) if path.suffix == ".gz" else content).decode()
    except (OSError, EOFError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path} cannot be read ({reason}): name a file of requests") from None


def _csv(lines: list[str], path: Path) -> Iterator[tuple[Mapping[str, Any], str]]:
    reader = csv.DictReader(io.StringIO("\n".join(lines)), skipinitialspace=True)
    missing = [name for name in COLUMNS if name not in (reader.fieldnames or ())]
    if missing:
        raise InputError(
            f"{path}: the header has no column {missing[0]}: it needs {', '.join(COLUMNS)}"
        )
    for row in reader:
        yield row, f"{path}: row {reader.line_num}"


def _json_lines(lines: list[str], path: Path) -> Iterator[tuple[dict[str, Any], str]]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError:
            row = None
        if not isinstance(row, dict):
            raise InputError(f"{path}: row {number} is no JSON object: mend it")
        yield row, f"{path}: row {number}"


def _row(row: Mapping[str, Any], place: str) -> _Row:
    for name in COLUMNS:
        if row.get(name) in (None, ""):
            raise InputError(f"{place} has no {name}: it needs {', '.join(COLUMNS)}")
    prompt = _number(row, "prompt_blocks", place, least=0.0)
    cached = _number(row, "cached_blocks", place, least=0.0)
    best = prompt
    if row.get("best_cached_blocks") not in (None, ""):
        best = _number(row, "best_cached_blocks", place, least=0.0)
    if not cached <= best <= prompt:
        raise InputError(
            f"{place}: cached_blocks is {cached:g} and best_cached_blocks {best:g} of"
            f" {prompt:g} prompt_blocks: they must rise in this order"
        )
    latency = _number(row, "latency", place, least=0.0)
    if latency == 0.0:
        raise InputError(f"{place}: latency is 0: it must be a number of seconds above 0")
    start = _number(row, "start", place, least=-math.inf)
    return str(row["worker"]), start, latency, prompt, cached, best


def _number(row: Mapping[str, Any], name: str, place: str, *, least: float) -> float:
    try:
        value = float(row[name])
    except (TypeError, ValueError):
        value = math.nan
    if not (math.isfinite(value) and value >= least):
        wanted = "a number" if least == -math.inf else f"a number, {least:g} or more"
        raise InputError(f"{place}: {name} is {row[name]!r}: it must be {wanted}")
    return value


def facts_of(event: Mapping[str, Any]) -> Facts | None:
    """Of a ``request_end``; None of a request that failed, which has no latency to judge."""
    request = event.get("request")
    if event.get("event_type") != "request_end" or not isinstance(request, dict):
        return None
    try:
        worker, replay = request["worker"], request["replay"]
        received, first, total = (
            float(request[name]) / 1e3
            for name in ("request_received_ms", "ttft_ms", "total_time_ms")
        )
        prefill = f"{worker['prefill_worker_id']}.{worker.get('prefill_dp_rank', 0)}"
        decode = f"{worker['decode_worker_id']}.{worker.get('decode_dp_rank', 0)}"
        prompt = float(len(replay["input_sequence_hashes"]))
        cached = float(request.get("cached_tokens", 0)) / float(replay["trace_block_size"])
    except (KeyError, TypeError, ValueError, AttributeError, ZeroDivisionError):
        return None
    return prefill, decode, received, first, total, prompt, min(cached, prompt)


def _rows(facts: list[Facts], pool: Pool | None) -> list[_Row]:
    if pool is None:
        pool = "prefill" if any(each[0] != each[1] for each in facts) else "aggregated"
    rows = []
    for prefill, decode, received, first, total, prompt, cached in facts:
        if pool == "decode":
            rows.append((decode, received + first, max(total - first, 1e-6), 0.0, 0.0, 0.0))
        else:
            latency = first if pool == "prefill" else total
            worker = prefill if pool == "prefill" else decode
            rows.append((worker, received, max(latency, 1e-6), prompt, cached, prompt))
    return rows


def _table(rows: list[_Row], without: str) -> Requests:
    if not rows:
        raise InputError(f"{without}: there is nothing to judge")
    names = sorted({row[0] for row in rows})
    index = {name: number for number, name in enumerate(names)}
    columns = np.array([row[1:] for row in rows])
    return Requests(
        worker=np.array([index[row[0]] for row in rows], dtype=np.int64),
        start_seconds=columns[:, 0].copy(),
        latency_seconds=columns[:, 1].copy(),
        prompt_blocks=columns[:, 2].copy(),
        cached_blocks=columns[:, 3].copy(),
        best_cached_blocks=columns[:, 4].copy(),
        workers=len(names),
    )
