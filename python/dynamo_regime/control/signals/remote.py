"""What the sources that speak HTTP have in common."""

import logging
from abc import ABC, abstractmethod

from dynamo_regime.control.reading import Reading
from dynamo_regime.control.signals.backoff import Backoff
from dynamo_regime.control.signals.http import FetchError, HttpSource

_log = logging.getLogger(__name__)


class RemoteSource(ABC):
    """Reads at its own pace from a server that may be away.

    A server that fails is asked again after a second, then after twice as long each time, up to 30.
    The log has one warning when it fails and one line when it is back.
    """

    def __init__(
        self, name: str, http: HttpSource, window_seconds: float, read_seconds: float
    ) -> None:
        """Prepare; nothing is contacted.

        Args:
            name: Of the server, for the log.
            http: The server.
            window_seconds: Over which latencies and rates are taken.
            read_seconds: It is asked no more often than this; in between the last reading stands.
        """
        self._name = name
        self._http = http
        self._window_seconds = window_seconds
        self._read_seconds = read_seconds
        self._problem = ""
        self._backoff = Backoff(first_seconds=1.0, longest_seconds=30.0)
        self._last: Reading | None = None

    @property
    def problem(self) -> str:
        """Why the server cannot be had; "" if it can."""
        return self._problem

    def read(self, time: float) -> Reading:
        """Ask, if it is time to, and make a reading; all is None while the server is away."""
        # Those who come a little early must not wait for another turn.
        if self._last is not None and 0 <= time - self._last.time < 0.9 * self._read_seconds:
            return self._last
        self._last = None
        if self._backoff.ready(time):
            self._last = self._answer(time)
        return self._last or Reading(time, self._window_seconds)

    def close(self) -> None:
        """Close the connection."""
        self._http.close()

    @abstractmethod
    def _ask(self, time: float) -> Reading:
        """Ask the server.

        Raises:
            FetchError: It cannot be had.
        """

    def _answer(self, time: float) -> Reading | None:
        try:
            reading = self._ask(time)
        except FetchError as error:
            if not self._problem:
                _log.warning("%s is unavailable, and is tried again: %s", self._name, error)
            self._problem = str(error)
            self._backoff.failed(time)
            return None
        if self._problem:
            _log.info("%s is available again", self._name)
        self._problem = ""
        self._backoff.succeeded()
        return reading
