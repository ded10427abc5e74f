"""Page's cumulative sum: has a noisy level moved across a boundary, and since when?

Sources: E. S. Page, "Continuous inspection schemes", Biometrika 41 (1954), 100–115; the estimate of
the time of change is that of M. Basseville and I. V. Nikiforov, "Detection of Abrupt Changes"
(1993), section 2.2.

The rival was the test of D. V. Hinkley, "Inference about the change-point from cumulative sum
tests", Biometrika 58 (1971), 509–523. It is the same recursion with the running mean of the past
for a reference, in place of a boundary that is known. Both were tried on the series of
tests/unit/control/detectors/test_change_point_choice.py, which prints the table of
docs/controller.md and fails if this no longer holds: with a boundary there was no false switch in
steady load, where Hinkley's test, which follows every busy period of the queue as if it were a
change, made some; a step is seen as fast or a quarter to half a second later.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cusum:
    """The sum so far.

    Attributes:
        total: Sum of the evidence since it was last zero, never negative; in readings, for one
            reading can add 1 at the most.
        since: Time of the reading with which it left zero: the maximum-likelihood estimate of
            when the change was, if it was one. None while the sum is zero.
    """

    total: float = 0.0
    since: float | None = None

    def add(self, evidence: float, time: float) -> "Cusum":
        """The sum after a reading.

        Args:
            evidence: Of the change; negative if the reading speaks against it. It is cut to within
                −1 and 1, so that one wild reading is no more than one reading.
            time: The reading's.
        """
        total = self.total + min(max(evidence, -1.0), 1.0)
        if total <= 0.0:
            return Cusum()
        return Cusum(total, time if self.since is None else self.since)


def evidence_of_rise(value: float, threshold: float, scale: float) -> float:
    """How far a value lies above a threshold; 1 if by as much as ``scale``."""
    return (value - threshold) / scale


def evidence_of_fall(value: float, threshold: float, scale: float, hysteresis: float) -> float:
    """How far a value lies below where a threshold is left downwards.

    That is ``hysteresis`` times ``scale`` below the threshold; 1 if the value lies a whole
    ``scale`` below the threshold.
    """
    return (threshold - hysteresis * scale - value) / (scale * (1.0 - hysteresis))
