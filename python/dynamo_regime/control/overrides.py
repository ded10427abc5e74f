"""Pools that a person has taken over for a while."""

import math

from dynamo_regime.control.running_time import RunningTime


class Overrides:
    """Counts the time to live of overrides down, in running time."""

    def __init__(self) -> None:
        """Begin with none."""
        self._clock = RunningTime(longest_step_seconds=60.0)
        self._until: dict[str | None, float] = {}

    def put(self, pool: str | None, seconds: float) -> None:
        """Take over a pool, or all of them with None, from now on; in place of an earlier one.

        Raises:
            ValueError: ``seconds`` is not positive and finite.
        """
        if not 0.0 < seconds < math.inf:
            raise ValueError(f"an override lasts for a positive number of seconds, not {seconds}")
        self._until[pool] = self._clock.seconds + seconds

    def release(self, pool: str | None) -> bool:
        """End the override of a pool, or the one of all with None; whether there was one."""
        return self._until.pop(pool, None) is not None

    def covers(self, pool: str) -> bool:
        """Whether a pool is taken over."""
        return None in self._until or pool in self._until

    def remaining_seconds(self) -> dict[str | None, float]:
        """Time to live of each override; None is the one of all pools."""
        return {pool: until - self._clock.seconds for pool, until in self._until.items()}

    def expire(self, time: float) -> list[str | None]:
        """Let time pass, and end and return the overrides that it has used up."""
        now = self._clock.advance(time)
        over = [pool for pool, until in self._until.items() if until <= now]
        for pool in over:
            del self._until[pool]
        return over
