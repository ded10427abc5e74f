"""Readings from one frontend's ``/metrics`` page."""

from dynamo_regime.control.reading import Reading
from dynamo_regime.control.signals.http import FetchError, HttpSource
from dynamo_regime.control.signals.metric_names import DEFAULT_PREFIX, FrontendNames
from dynamo_regime.control.signals.remote import RemoteSource
from dynamo_regime.control.signals.scrape import PageReader
from dynamo_regime.control.signals.source import MINIMUM_COUNT
from dynamo_regime.control.signals.window import GrowthWindow, reading_of


class MetricsEndpoint(RemoteSource):
    """A source that scrapes a frontend.

    The latencies are of what was observed between scrapes within the last ``window_seconds``; a
    reading says how many seconds it covers in fact. The first one after a start, or after an outage
    of two windows, has loads only. A restart of the frontend in between is noticed by its counters.
    """

    def __init__(
        self,
        url: str,
        window_seconds: float,
        *,
        read_seconds: float = 0.25,
        minimum_count: int = MINIMUM_COUNT,
        metrics_prefix: str = DEFAULT_PREFIX,
        timeout_seconds: float = 1.0,
    ) -> None:
        """Prepare; nothing is contacted.

        Args:
            url: The frontend's, as ``http://127.0.0.1:8000``.
            window_seconds: At least the time between two readings.
            read_seconds: It is scraped no more often than this.
            minimum_count: Fewer latencies than that have no quantiles.
            metrics_prefix: The frontend's ``DYN_METRICS_PREFIX``.
            timeout_seconds: Bound on each wait for the frontend.

        Raises:
            SignalError: The URL cannot be used.
        """
        http = HttpSource(url, timeout_seconds)
        super().__init__(f"The frontend at {http.shown_url}", http, window_seconds, read_seconds)
        self._names = FrontendNames.of(metrics_prefix)
        self._page = PageReader(metrics_prefix)
        self._window = GrowthWindow(window_seconds)
        self._minimum_count = minimum_count

    def _ask(self, time: float) -> Reading:
        page = self._http.get("/metrics")
        try:
            scrape = self._page.read(page)
        except ValueError as error:
            raise FetchError(str(error)) from error
        self._window.add(time, scrape)
        seconds, grown = self._window.grown() or (self._window_seconds, None)
        return reading_of(
            time,
            seconds,
            grown,
            self._names,
            self._minimum_count,
            workers=scrape.workers,
            queue_length=scrape.queue_length,
        )
