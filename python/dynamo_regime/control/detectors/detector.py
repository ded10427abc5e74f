"""What all detectors have in common."""

from typing import Protocol

from dynamo_regime.control.reading import Reading
from dynamo_regime.control.verdict import Verdict


class Detector(Protocol):
    """Judges the load, one reading after the other. It has a memory, and no clock."""

    @property
    def reading_interval_seconds(self) -> float:
        """The pace at which it wants readings, which is also the window that they should cover."""
        ...

    @property
    def debounce_readings(self) -> int:
        """How many verdicts in a row the regime machine should ask for, unless told otherwise."""
        ...

    def update(self, reading: Reading) -> Verdict:
        """Take the next reading. Whatever it holds, there is a verdict; nothing is raised."""
        ...
