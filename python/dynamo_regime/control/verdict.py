"""What a detector makes of a reading."""

from dataclasses import dataclass
from enum import StrEnum


class Regime(StrEnum):
    """How loaded the fleet is, in the words of arXiv 2606.17081."""

    NORMAL = "normal"
    TRANSITION = "transition"
    SATURATED = "saturated"

    @property
    def rank(self) -> int:
        """0, 1 or 2, by load."""
        return _ORDER.index(self)

    def towards(self, other: "Regime") -> "Regime":
        """The regime one step from here in the direction of ``other``."""
        return _ORDER[self.rank + (other.rank > self.rank) - (other.rank < self.rank)]


_ORDER = (Regime.NORMAL, Regime.TRANSITION, Regime.SATURATED)


@dataclass(frozen=True, slots=True)
class Verdict:
    """A detector's opinion after a reading.

    Attributes:
        level: The load index: 0 is no load, 1 is where the transition regime begins and 2 is where
            the saturated one does, linear in between and beyond. None if the reading tells nothing.
        regime: The regime that the detector sees; None if the reading tells nothing.
        statistic: The number that was tested, in the detector's own unit; the last one if the
            reading tells nothing.
        reason: Why, in a phrase that people can read.
        since: When the load began to differ from what it was before, as far as the detector can
            tell, in the reading's time; None where it does not say.
    """

    level: float | None
    regime: Regime | None
    statistic: float
    reason: str
    since: float | None = None
