"""The price of anarchy beside the controller: one thread, at most a twentieth of a core."""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress

from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from dynamo_regime.anarchy.alarm import PriceAlarm
from dynamo_regime.anarchy.rolling import RollingPrice
from dynamo_regime.control.events import Event, EventKind, EventRing
from dynamo_regime.control.finished_log import FinishedLog

_SECONDS = 5.0
_SHARE = 0.05
_PAGE = 1_000

_log = logging.getLogger(__name__)


class LiveAnarchy(Collector):
    """Judges the requests of a log every 5 s, or less often where that takes more than 5 % of it.

    Nobody waits for it: what it last found is shown, and a round that fails is logged and left out.
    """

    def __init__(
        self,
        finished: FinishedLog,
        events: EventRing | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prepare; :meth:`start` starts it.

        Args:
            finished: Where requests are found.
            events: Where it is told that a price has risen or fallen; by default nowhere.
            clock: Of the events.
        """
        self._events = events
        self._clock = clock
        self._alarm = PriceAlarm()
        self._finished = finished
        self._rolling = RollingPrice()
        self._after = 0
        self._missed = 0
        self._metrics: list[Metric] = []
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="anarchy", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End it, after the round that is under way."""
        self._stopped.set()
        with suppress(RuntimeError):  # It was never started.
            self._thread.join()

    def collect(self) -> Iterator[Metric]:
        """What was last found."""
        yield from self._metrics

    def round(self, now_unix: float) -> None:
        """Take what has finished, and judge.

        Args:
            now_unix: In seconds since the UNIX epoch.
        """
        while (page := self._finished.page(_PAGE, self._after)).requests:
            last = page.requests[-1][0]
            self._missed += last - self._after - len(page.requests)
            self._after = last
            self._rolling.add(event for _, event in page.requests)
        price = GaugeMetricFamily(
            "dynamo_regime_price_of_anarchy_ratio",
            "Realised over optimal cost of the last minute: bound low or high, or the paper's"
            " estimate.",
            labels=("pool", "bound"),
        )
        excess = GaugeMetricFamily(
            "dynamo_regime_excess_latency_seconds",
            "Latency beyond the optimum, per request in flight, by what explains it.",
            labels=("pool", "part"),
        )
        prices = self._rolling.price(now_unix)
        self._tell({pool: found.low.price for pool, found in prices.items()})
        for pool, found in prices.items():
            for bound, value in (
                ("low", found.low.price),
                ("high", found.high.price),
                ("poa_hat", found.frozen.price),
            ):
                price.add_metric((pool, bound), value)
            for part in ("queueing", "imbalance", "cache_loss"):
                share = float(getattr(found, part))
                excess.add_metric((pool, part), share * found.excess_seconds)
        unpriced = CounterMetricFamily(
            "dynamo_regime_unpriced_requests",
            "Finished requests that are in no price: failed, without a worker, or lost.",
            value=self._rolling.incomplete + self._missed,
        )
        self._metrics = [price, excess, unpriced]

    def _tell(self, lows: Mapping[str, float]) -> None:
        told = self._alarm.see(lows)
        if self._events is not None:
            self._events.extend(
                Event(EventKind.PRICE, self._clock(), reason, pool=pool) for pool, reason in told
            )

    def _run(self) -> None:
        wait = _SECONDS
        while not self._stopped.wait(wait):
            began = time.thread_time()
            try:
                self.round(time.time())
            except Exception:
                _log.exception("the price of anarchy could not be computed; it is tried again")
            wait = max(_SECONDS, (time.thread_time() - began) / _SHARE)
