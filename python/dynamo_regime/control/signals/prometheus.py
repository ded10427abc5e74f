"""Readings of several frontends from a Prometheus server."""

import json
import math
from collections.abc import Mapping
from typing import Any

from dynamo_regime.control.reading import Reading, WorkerLoad
from dynamo_regime.control.signals import metric_names
from dynamo_regime.control.signals.histogram import Histogram
from dynamo_regime.control.signals.http import FetchError, HttpSource
from dynamo_regime.control.signals.metric_names import DEFAULT_PREFIX, FrontendNames
from dynamo_regime.control.signals.remote import RemoteSource
from dynamo_regime.control.signals.scrape import Growth, workers_of
from dynamo_regime.control.signals.source import MINIMUM_COUNT, SignalError
from dynamo_regime.control.signals.window import reading_of

TOKEN_VARIABLE = "DYNAMO_REGIME_PROMETHEUS_TOKEN"
AUTHORITY_VARIABLE = "DYNAMO_REGIME_PROMETHEUS_CA"

# As in scrape.py. A metric without the label matches.
_NOT_DECODE = 'phase!="decode"'

_Answer = list[tuple[Mapping[str, str], float]]


class Prometheus(RemoteSource):
    """A source that asks a Prometheus server, which scrapes all frontends.

    What is added up over frontends is added up by the server, per bucket, before any quantile is
    taken. A failed query makes the whole reading None: half a reading would be of two moments.
    """

    def __init__(
        self,
        url: str,
        window_seconds: float,
        environment: Mapping[str, str],
        *,
        matchers: Mapping[str, str] | None = None,
        loads_are_shared: bool = False,
        read_seconds: float = 5.0,
        minimum_count: int = MINIMUM_COUNT,
        metrics_prefix: str = DEFAULT_PREFIX,
        timeout_seconds: float = 2.0,
    ) -> None:
        """Prepare; nothing is contacted.

        Args:
            url: The server's, as ``http://prometheus:9090``.
            window_seconds: Over which rates are taken; at least twice the server's scrape interval,
                or they are all absent.
            environment: Whose ``DYNAMO_REGIME_PROMETHEUS_TOKEN`` is the bearer token, and whose
                ``DYNAMO_REGIME_PROMETHEUS_CA`` the PEM file of the authority to trust.
            matchers: Labels that tell this deployment's frontends from others on the same server.
            loads_are_shared: Every frontend sees the whole load of a worker (Dynamo's replica
                sync), rather than its own share.
            read_seconds: It is asked no more often than this.
            minimum_count: Fewer latencies than that have no quantiles.
            metrics_prefix: The frontends' ``DYN_METRICS_PREFIX``.
            timeout_seconds: Bound on each wait for the server.

        Raises:
            SignalError: The URL, the window or the authority's file cannot be used.
        """
        if not 0.001 <= window_seconds < math.inf:
            raise SignalError(f"a window of {window_seconds} s cannot be used: give 1 ms or more")
        http = HttpSource(
            url,
            timeout_seconds,
            token=environment.get(TOKEN_VARIABLE),
            authority_path=environment.get(AUTHORITY_VARIABLE),
        )
        super().__init__(f"Prometheus at {http.shown_url}", http, window_seconds, read_seconds)
        self._range = f"[{round(window_seconds * 1000)}ms]"
        self._matchers = [
            f"{name}={json.dumps(value, ensure_ascii=False)}"
            for name, value in (matchers or {}).items()
        ]
        self._over_frontends = "max" if loads_are_shared else "sum"
        self._minimum_count = minimum_count
        self._names = FrontendNames.of(metrics_prefix)

    def _ask(self, time: float) -> Reading:
        names = self._names
        grown = Growth(
            histograms={name: self._histogram(name) for name in (names.ttft, names.itl)},
            counters={name: self._increase(name) for name in metric_names.COUNTERS},
        )
        return reading_of(
            time,
            self._window_seconds,
            grown,
            names,
            self._minimum_count,
            workers=self._workers(),
            queue_length=self._number(f"sum({self._select(metric_names.QUEUE_LENGTH)})"),
        )

    def _histogram(self, metric: str) -> Histogram | None:
        buckets = self._select(f"{metric}_bucket")
        answer = self._query(f"sum by (le) (increase({buckets}{self._range}))")
        return Histogram.from_buckets(
            (_float(labels.get("le", "")), count) for labels, count in answer
        )

    def _increase(self, counter: str) -> float | None:
        return self._number(f"sum(increase({self._select(counter, _NOT_DECODE)}{self._range}))")

    def _workers(self) -> tuple[WorkerLoad, ...] | None:
        by_worker = f"{self._over_frontends} by (worker_id, dp_rank, worker_type)"
        samples = {
            gauge: self._query(f"{by_worker} ({self._select(gauge)})")
            for gauge in metric_names.WORKER_GAUGES
        }
        kv_blocks = self._query(f"max by (model) ({self._select(self._names.kv_blocks)})")
        return workers_of(samples, {value for _, value in kv_blocks if value > 0})

    def _number(self, query: str) -> float | None:
        values = [value for _, value in self._query(query) if 0 <= value < math.inf]
        return values[0] if values else None

    def _select(self, metric: str, *matchers: str) -> str:
        return f"{metric}{{{','.join([*self._matchers, *matchers])}}}"

    def _query(self, query: str) -> _Answer:
        text = self._http.get("/api/v1/query", {"query": query})
        try:
            answer = json.loads(text)
            if answer["status"] != "success":
                raise FetchError(f"{self._http.shown_url} refuses the query {query}")
            return [_sample(one) for one in answer["data"]["result"]]
        except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
            raise FetchError(
                f"{self._http.shown_url} answers with something else than Prometheus does"
            ) from error


def _sample(one: Any) -> tuple[Mapping[str, str], float]:
    labels = {str(name): str(value) for name, value in one["metric"].items()}
    return labels, float(one["value"][1])


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
