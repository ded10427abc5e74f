"""Time that never runs backwards, made of a clock that may."""

import math


class RunningTime:
    """Adds up the forward steps of a clock.

    A step backwards counts as none. A step longer than ``longest_step_seconds`` counts as that
    much: a clock that was set, or a process that was asleep, saw nothing of what lay in between.
    Thus running time never exceeds the time that has passed on a clock that only runs forward.
    """

    def __init__(self, longest_step_seconds: float) -> None:
        """Start at 0 with the first call of :meth:`advance`."""
        self._longest_step = longest_step_seconds
        self._last: float | None = None
        self._total = 0.0

    @property
    def seconds(self) -> float:
        """Running time up to the last call of :meth:`advance`."""
        return self._total

    def advance(self, time: float) -> float:
        """Take note of the clock and return the running time. NaN and infinity change nothing."""
        if not math.isfinite(time):
            return self._total
        if self._last is not None:
            self._total += min(max(time - self._last, 0.0), self._longest_step)
        self._last = time
        return self._total
