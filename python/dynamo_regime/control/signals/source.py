"""What all sources of readings have in common."""

import logging
from typing import Protocol

from dynamo_regime.control.reading import Reading
from dynamo_regime.control.signals.backoff import Backoff
from dynamo_regime.errors import RegimeError

_log = logging.getLogger(__name__)

MINIMUM_COUNT = 20
"""Latencies that a window must have for its quantiles to be told."""


class SignalError(RegimeError, ValueError):
    """A source that cannot be set up as it was asked for."""


class Source(Protocol):
    """Where readings come from."""

    @property
    def problem(self) -> str:
        """Why the source is unavailable; "" if it is not."""
        ...

    def read(self, time: float) -> Reading:
        """The reading at ``time``, in seconds on the caller's clock.

        It never raises: what cannot be had is None.
        """
        ...


class Availability:
    """Whether a remote source can be had: when to try it again, and what to tell people.

    A source that fails is tried again after a second, then after twice as long each time, up to 30.
    The log has one warning when it fails and one line when it is back.
    """

    def __init__(self, name: str) -> None:
        """Begin as available.

        Args:
            name: Of the source, for the log.
        """
        self.problem = ""
        self._name = name
        self._backoff = Backoff(first_seconds=1.0, longest_seconds=30.0)

    def ready(self, time: float) -> bool:
        """Whether it is time to try."""
        return self._backoff.ready(time)

    def failed(self, time: float, problem: str) -> None:
        """It could not be had at ``time``."""
        if not self.problem:
            _log.warning("%s is unavailable, and is tried again: %s", self._name, problem)
        self.problem = problem
        self._backoff.failed(time)

    def succeeded(self) -> None:
        """It could be had."""
        if self.problem:
            _log.info("%s is available again", self._name)
        self.problem = ""
        self._backoff.succeeded()
