"""Readings from one frontend's ``/metrics`` page."""

from dynamo_regime.control.reading import Reading
from dynamo_regime.control.signals.http import FetchError, HttpSource
from dynamo_regime.control.signals.metric_names import DEFAULT_PREFIX, FrontendNames
from dynamo_regime.control.signals.scrape import PageReader
from dynamo_regime.control.signals.source import MINIMUM_COUNT, Availability
from dynamo_regime.control.signals.window import GrowthWindow, reading_of


class MetricsEndpoint:
    """A source that scrapes a frontend at every reading.

    The latencies are of what was observed between scrapes within the last ``window_seconds``; a
    reading says how many seconds it covers in fact. The first one after a start, or after an outage
    of two windows, has loads only. A restart of the frontend in between is noticed by its counters.
    """

    def __init__(
        self,
        url: str,
        window_seconds: float,
        *,
        minimum_count: int = MINIMUM_COUNT,
        metrics_prefix: str = DEFAULT_PREFIX,
        timeout_seconds: float = 1.0,
    ) -> None:
        """Prepare; nothing is contacted.

        Args:
            url: The frontend's, as ``http://127.0.0.1:8000``.
            window_seconds: At least the time between two readings.
            minimum_count: Fewer latencies than that have no quantiles.
            metrics_prefix: The frontend's ``DYN_METRICS_PREFIX``.
            timeout_seconds: Bound on each wait for the frontend.

        Raises:
            SignalError: The URL cannot be used.
        """
        self._http = HttpSource(url, timeout_seconds)
        self._names = FrontendNames.of(metrics_prefix)
        self._page = PageReader(metrics_prefix)
        self._window_seconds = window_seconds
        self._window = GrowthWindow(window_seconds)
        self._minimum_count = minimum_count
        self._availability = Availability(f"The frontend at {self._http.shown_url}")

    @property
    def problem(self) -> str:
        """Why the frontend's metrics cannot be had; "" if they can."""
        return self._availability.problem

    def read(self, time: float) -> Reading:
        """Scrape and make a reading; all of it is None while the frontend is unavailable."""
        nothing = Reading(time, self._window_seconds)
        if not self._availability.ready(time):
            return nothing
        try:
            scrape = self._page.read(self._http.get("/metrics"))
        except (FetchError, ValueError) as error:
            self._availability.failed(time, str(error))
            return nothing
        self._availability.succeeded()
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

    def close(self) -> None:
        """Close the connection."""
        self._http.close()
