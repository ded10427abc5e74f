"""Where regimes begin, on whatever scale a detector has, and the load index that follows."""

import math
from collections.abc import Iterable
from typing import Self

import numpy as np
from pydantic import model_validator

from dynamo_regime.control.checked import Checked, Positive
from dynamo_regime.control.verdict import Regime


class Thresholds(Checked):
    """θ1 and θ2 of arXiv 2606.17081.

    Attributes:
        transition: θ1, where the transition regime begins.
        saturated: θ2, where the saturated regime begins; above ``transition``.
    """

    transition: Positive
    saturated: Positive

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if not self.transition < self.saturated:
            raise ValueError(
                f"transition ({self.transition:g}) is not below saturated ({self.saturated:g}):"
                " give the lower threshold to transition"
            )
        return self

    def load_index(self, value: float) -> float:
        """0 at no load, 1 at ``transition``, 2 at ``saturated``; linear in between and beyond.

        Args:
            value: What is compared with the thresholds, in their unit; finite, not negative.
        """
        if value < self.transition:
            return value / self.transition
        index = 1.0 + (value - self.transition) / (self.saturated - self.transition)
        return min(index, MAX_LOAD_INDEX)


MAX_LOAD_INDEX = 1e6
"""Beyond this nothing is distinguished: saturated it is."""


def regime_at(index: float) -> Regime:
    """The regime that a load index lies in. A threshold itself belongs to the regime below it."""
    if index > 2.0:
        return Regime.SATURATED
    return Regime.TRANSITION if index > 1.0 else Regime.NORMAL


class Hysteresis:
    """A regime that is left upwards at a threshold, and downwards only some way below it."""

    def __init__(self, width: float) -> None:
        """Begin in the normal regime; ``width`` is in units of the load index, below 1."""
        self._width = width
        self._regime = Regime.NORMAL

    def regime(self, index: float) -> Regime:
        """The regime after this load index."""
        up, down = regime_at(index), regime_at(index + self._width)
        if up.rank > self._regime.rank:
            self._regime = up
        elif down.rank < self._regime.rank:
            self._regime = down
        return self._regime


class ThresholdLearner:
    """Thresholds from readings that are known to be steady, as the first minutes are taken to be.

    θ1 = ``margin`` times the 95th percentile of what was seen, and θ2 = ``ratio`` · θ1, both within
    bounds. The percentile holds the noise of the steady load, the margin what is to count as more
    than noise.
    """

    def __init__(self, *, margin: float, ratio: float, lowest: float, highest: Thresholds) -> None:
        """Begin with nothing seen.

        Memory is bounded: of more than 10,000 values the last count.

        Args:
            margin: See above.
            ratio: See above; greater than 1.
            lowest: Lower bound of θ1.
            highest: Upper bounds of both.
        """
        self._margin = margin
        self._ratio = ratio
        self._lowest = lowest
        self._highest = highest
        self._values: list[float] = []

    def see(self, value: float) -> None:
        """Add a reading's value; NaN and infinity tell nothing."""
        if math.isfinite(value):
            self._values.append(value)
            del self._values[:-10_000]

    def thresholds(self) -> Thresholds | None:
        """What follows from all values so far; None from fewer than 20."""
        if len(self._values) < 20:
            return None
        transition = self._margin * float(np.quantile(self._values, 0.95))
        transition = min(max(transition, self._lowest), self._highest.transition)
        saturated = min(self._ratio * transition, self._highest.saturated)
        return Thresholds(transition=transition, saturated=saturated)


def usable(values: Iterable[float | None]) -> list[float]:
    """The values that are known and can be true: not negative, and not beyond all measure."""
    return [value for value in values if value is not None and 0.0 <= value <= _BEYOND_MEASURE]


_BEYOND_MEASURE = 1e15
"""No queue has so many seconds or tokens: a source that says so is broken."""
