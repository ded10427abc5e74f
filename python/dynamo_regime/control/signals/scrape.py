"""A frontend's ``/metrics`` page as values, and what was added between two of them."""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from prometheus_client.parser import text_string_to_metric_families

from dynamo_regime.control.reading import WorkerLoad
from dynamo_regime.control.signals import metric_names
from dynamo_regime.control.signals.histogram import Histogram, added, merge
from dynamo_regime.control.signals.metric_names import FrontendNames

V = TypeVar("V")

Labels = frozenset[tuple[str, str]]
Sample = tuple[str, Mapping[str, str], float]
"""Name, labels, value."""


@dataclass(frozen=True, slots=True)
class Scrape:
    """One scrape.

    Attributes:
        histograms: Cumulative since the frontend started, by metric and series; None where what
            the page says cannot be.
        counters: Likewise.
        workers: Load of every worker; None if the frontend has no such metric, as when it does not
            route by KV cache.
        queue_length: Requests that wait in the router; None if there is no such metric.
    """

    histograms: Mapping[str, Mapping[Labels, Histogram | None]]
    counters: Mapping[str, Mapping[Labels, float | None]]
    workers: tuple[WorkerLoad, ...] | None
    queue_length: float | None

    def after(self, before: "Scrape") -> "Scrape":
        """This scrape, with what an earlier one knew of the series that are missing here.

        A series that is left out once and comes back has not grown from nothing.
        """
        return replace(
            self,
            histograms=_known(self.histograms, before.histograms),
            counters=_known(self.counters, before.counters),
        )


@dataclass(frozen=True, slots=True)
class Growth:
    """What was added between two scrapes, or over several such stretches; None if unknown."""

    histograms: Mapping[str, Histogram | None]
    counters: Mapping[str, float | None]


class PageReader:
    """Parses the pages of one kind of frontend."""

    def __init__(self, prefix: str) -> None:
        """For frontends whose metrics begin with ``prefix``."""
        self._names = FrontendNames.of(prefix)
        self._histograms = (self._names.ttft, self._names.itl)
        self._marker = re.compile(rf"^{re.escape(prefix)}_disconnected_clients ", re.MULTILINE)
        self._prefix = prefix
        wanted = [f"{name}_bucket" for name in self._histograms]
        wanted += [*metric_names.COUNTERS, *metric_names.WORKER_GAUGES]
        wanted += [metric_names.QUEUE_LENGTH, self._names.kv_blocks]
        # A page has thousands of lines and we need some dozens of them.
        self._lines = re.compile(rf"^(?:{'|'.join(map(re.escape, wanted))})[ {{].*$", re.MULTILINE)

    def read(self, page: str) -> Scrape:
        """The values on a page.

        Raises:
            ValueError: It is no page of a Dynamo frontend, or a line that is needed cannot be
                parsed; the page then says nothing.
        """
        if not self._marker.search(page):
            raise ValueError(f"it has no metrics of a Dynamo frontend named {self._prefix}_...")
        text = "".join(line + "\n" for line in self._lines.findall(page))
        try:
            samples = [
                (sample.name, sample.labels, float(sample.value))
                for family in text_string_to_metric_families(text)
                for sample in family.samples
            ]
        except Exception as error:  # The parser's errors are of many kinds, IndexError among them.
            raise ValueError(f"it is not Prometheus text ({error})") from error
        return self._scrape(samples)

    def _scrape(self, samples: Iterable[Sample]) -> Scrape:
        by_name: dict[str, list[tuple[Mapping[str, str], float]]] = defaultdict(list)
        for name, labels, value in samples:
            by_name[name].append((labels, value))
        queue = [value for _, value in by_name[metric_names.QUEUE_LENGTH] if value >= 0]
        return Scrape(
            histograms={name: _histograms(by_name[f"{name}_bucket"]) for name in self._histograms},
            counters={name: _counters(by_name[name]) for name in metric_names.COUNTERS},
            workers=workers_of(
                by_name, {value for _, value in by_name[self._names.kv_blocks] if value > 0}
            ),
            queue_length=sum(queue) if queue else None,
        )


def growth(now: Scrape, before: Scrape) -> Growth:
    """What was added between two scrapes; a counter that fell was started anew."""
    return Growth(
        histograms={
            name: added(series, before.histograms[name]) for name, series in now.histograms.items()
        },
        counters={
            name: _increase(series, before.counters[name]) for name, series in now.counters.items()
        },
    )


def total(parts: Iterable[Growth]) -> Growth:
    """What was added over consecutive stretches; of those where it is known."""
    parts = list(parts)
    histograms = {name for part in parts for name in part.histograms}
    counters = {name for part in parts for name in part.counters}
    return Growth(
        histograms={
            name: merge(one for part in parts if (one := part.histograms[name]) is not None)
            for name in histograms
        },
        counters={name: _sum(part.counters[name] for part in parts) for name in counters},
    )


def _known(
    now: Mapping[str, Mapping[Labels, V | None]], before: Mapping[str, Mapping[Labels, V | None]]
) -> dict[str, dict[Labels, V | None]]:
    return {
        name: {
            **before[name],
            **{
                labels: value
                for labels, value in series.items()
                if value is not None or labels not in before[name]
            },
        }
        for name, series in now.items()
    }


def _histograms(
    buckets: Iterable[tuple[Mapping[str, str], float]],
) -> dict[Labels, Histogram | None]:
    by_series: dict[Labels, list[tuple[float, float]]] = defaultdict(list)
    for labels, count in buckets:
        try:
            bound = float(labels.get("le", ""))
        except ValueError:
            bound = math.nan
        series = frozenset(label for label in labels.items() if label[0] != "le")
        by_series[series].append((bound, count))
    return {series: Histogram.from_buckets(pairs) for series, pairs in by_series.items()}


def _counters(
    samples: Iterable[tuple[Mapping[str, str], float]],
) -> dict[Labels, float | None]:
    # A decode worker takes what prefill has computed: its own cache is not asked for.
    return {
        frozenset(labels.items()): value if 0 <= value < math.inf else None
        for labels, value in samples
        if labels.get("phase") != "decode"
    }


def workers_of(
    samples: Mapping[str, Iterable[tuple[Mapping[str, str], float]]], kv_blocks: set[float]
) -> tuple[WorkerLoad, ...] | None:
    """The load of every worker.

    Args:
        samples: Of the gauges of worker load, and of whatever else tells of prefill workers: labels
            and value, by metric.
        kv_blocks: The numbers of KV-cache blocks that workers are said to have, by model.

    Returns:
        None if there are no such gauges.
    """
    loads: dict[tuple[int, int, str], dict[str, float]] = defaultdict(dict)
    for name, field in zip(
        metric_names.WORKER_GAUGES, ("prefill_tokens", "decode_blocks"), strict=True
    ):
        for labels, value in samples.get(name, ()):
            worker, rank = labels.get("worker_id", ""), labels.get("dp_rank", "")
            if _is_number(worker) and _is_number(rank) and 0 <= value < math.inf:
                loads[int(worker), int(rank), labels.get("worker_type", "")][field] = value
    if not loads:
        return None
    disaggregated = any(
        labels.get("worker_type") == "prefill"
        for series in samples.values()
        for labels, _ in series
    )
    return tuple(
        WorkerLoad(
            worker,
            rank,
            prefill_tokens=load.get("prefill_tokens"),
            decode_blocks=load.get("decode_blocks"),
            pool=metric_names.pool_of(worker_type, disaggregated=disaggregated) or None,
            # It is given by model, not by worker: with models that differ it is not known whose.
            kv_blocks=next(iter(kv_blocks)) if len(kv_blocks) == 1 else None,
        )
        for (worker, rank, worker_type), load in sorted(loads.items())
    )


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 20


def _increase(
    now: Mapping[Labels, float | None], before: Mapping[Labels, float | None]
) -> float | None:
    increases = []
    for series, value in now.items():
        earlier = before.get(series, 0.0)
        if value is not None and earlier is not None:
            increases.append(value - earlier if earlier <= value else value)
    return sum(increases) if increases else None


def _sum(values: Iterable[float | None]) -> float | None:
    present = [value for value in values if value is not None]
    return sum(present) if present else None
