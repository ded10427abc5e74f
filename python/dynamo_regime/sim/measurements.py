"""Measured latencies by concurrency: from a file, or from a Prometheus server."""

import csv
import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dynamo_regime.control.checked import read_text
from dynamo_regime.control.signals import metric_names
from dynamo_regime.control.signals.http import FetchError, HttpSource
from dynamo_regime.errors import InputError, RegimeError

COLUMNS = ("concurrency", "latency_seconds")
_LEAST_REQUESTS = 20
_POINTS = 1_000


@dataclass(frozen=True, slots=True, eq=False)
class Measurements:
    """What ``calibrate`` is fitted to; both of shape ``(n,)``.

    Attributes:
        concurrency: Requests at once on one worker.
        latency_seconds: What was measured meanwhile.
    """

    concurrency: NDArray[np.float64]
    latency_seconds: NDArray[np.float64]


def read_measurements(path: Path) -> Measurements:
    """Read CSV with a header, or JSON lines; further columns are ignored.

    Raises:
        RegimeError: It cannot be read, a column is missing, or a value is no number above 0; the
            message names the line.
    """
    text = read_text(path)
    rows = _json_lines(text, path) if text.lstrip().startswith("{") else _csv(text, path)
    values = [_values(row, f"{path}: line {number}") for number, row in rows]
    return _measurements(values, f"{path} has no measurement: add lines below the header")


def ask_prometheus(
    http: HttpSource,
    *,
    latency: Literal["ttft", "itl"],
    since_seconds: float,
    now: float,
    metrics_prefix: str = metric_names.DEFAULT_PREFIX,
) -> Measurements:
    """Ask a Prometheus server what it saw: means over steps of a thousandth of the time, or 30 s.

    Concurrency is the requests in flight over the workers that serve them: those of the prefill
    pool for the TTFT, if there is one, and otherwise all but those. A step with fewer than 20
    latencies says nothing.

    Args:
        http: The server.
        latency: TTFT or ITL.
        since_seconds: How far back.
        now: End, in seconds since the UNIX epoch.
        metrics_prefix: The frontends' ``DYN_METRICS_PREFIX``.

    Raises:
        RegimeError: It does not answer, or knows nothing of a Dynamo frontend.
    """
    step = max(since_seconds / _POINTS, 30.0)
    over = f"[{round(step)}s]"
    names = metric_names.FrontendNames.of(metrics_prefix)
    metric = names.ttft if latency == "ttft" else names.itl
    pool = 'worker_type="prefill"' if latency == "ttft" else 'worker_type!="prefill"'
    queries = (
        f"sum(avg_over_time({metrics_prefix}_inflight_requests{over}))"
        f" / ({_workers(pool)} or {_workers('')})",
        f"sum(increase({metric}_sum{over})) / sum(increase({metric}_count{over}))",
        f"sum(increase({metric}_count{over}))",
    )
    try:
        concurrency, latencies, counts = (
            _over_time(http, query, now - since_seconds, now, step) for query in queries
        )
    except FetchError as error:
        raise RegimeError(f"the measurements cannot be had: {error}") from None
    values = [
        (concurrency[time], latencies[time])
        for time in sorted(concurrency.keys() & latencies.keys())
        if counts.get(time, 0.0) >= _LEAST_REQUESTS
        and 0.0 < concurrency[time] < math.inf
        and 0.0 < latencies[time] < math.inf
    ]
    return _measurements(
        values,
        f"{http.shown_url} knows of no {_LEAST_REQUESTS} requests of a Dynamo frontend within"
        f" {step:g} s: look further back, or at another server",
    )


def _workers(matcher: str) -> str:
    workers = f"{metric_names.WORKER_DECODE_BLOCKS}{{{matcher}}}"
    return f"count(count by (worker_id, dp_rank) ({workers}))"


def _csv(text: str, path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    rows = csv.DictReader(io.StringIO(text), skipinitialspace=True)
    _refuse_without(rows.fieldnames or (), f"{path}: the header")
    for row in rows:
        yield rows.line_num, row


def _json_lines(text: str, path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError:
            row = None
        if not isinstance(row, dict):
            raise InputError(f"{path}: line {number} is no JSON object: mend it")
        _refuse_without(row, f"{path}: line {number}")
        yield number, row


def _refuse_without(names: Iterable[str], place: str) -> None:
    missing = [name for name in COLUMNS if name not in set(names)]
    if missing:
        raise InputError(f"{place} has no column {missing[0]}: it needs {' and '.join(COLUMNS)}")


def _values(row: Mapping[str, Any], place: str) -> tuple[float, float]:
    found = []
    for name in COLUMNS:
        try:
            value = float(row[name])
        except (TypeError, ValueError):
            value = math.nan
        if not 0.0 < value < math.inf:
            raise InputError(f"{place}: {name} is {row[name]!r}: it must be a number above 0")
        found.append(value)
    return found[0], found[1]


def _measurements(values: list[tuple[float, float]], without: str) -> Measurements:
    if not values:
        raise InputError(without)
    columns = np.array(values)
    return Measurements(columns[:, 0].copy(), columns[:, 1].copy())


def _over_time(
    http: HttpSource, query: str, start: float, end: float, step: float
) -> dict[float, float]:
    times = {"start": f"{start:.3f}", "end": f"{end:.3f}", "step": f"{step:.3f}"}
    text = http.get("/api/v1/query_range", {"query": query, **times})
    try:
        answer = json.loads(text)
        series = answer["data"]["result"]
        return {float(at): float(value) for one in series[:1] for at, value in one["values"]}
    except (ValueError, KeyError, TypeError) as error:
        raise FetchError(
            f"{http.shown_url} answers with something else than Prometheus does"
        ) from error
