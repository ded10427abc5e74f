"""What all sources of readings have in common."""

from typing import Protocol

from dynamo_regime.control.reading import Reading
from dynamo_regime.errors import RegimeError

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
