"""When a price of anarchy is worth telling."""

from collections.abc import Mapping

RISEN = 1.25
"""From this lower bound on, requests certainly cost a quarter more than they need to."""
FALLEN = 1.1
_IN_A_ROW = 2


class PriceAlarm:
    """Tells, once, that a pool's price has risen, and once that it has fallen again.

    It goes by the lower bound, which no unknown cache can feign, and by two rounds in a row.
    """

    def __init__(self) -> None:
        """Begin with nothing risen."""
        self._risen: set[str] = set()
        self._rounds: dict[str, int] = {}

    def see(self, lows: Mapping[str, float]) -> list[tuple[str, str]]:
        """Take the lower bound of each pool that has one.

        Returns:
            Pool and reason of each that has risen or fallen just now.
        """
        told = []
        for pool, low in lows.items():
            is_risen = pool in self._risen
            crosses = low < FALLEN if is_risen else low >= RISEN
            self._rounds[pool] = self._rounds.get(pool, 0) + 1 if crosses else 0
            if self._rounds[pool] < _IN_A_ROW:
                continue
            self._rounds[pool] = 0
            if is_risen:
                self._risen.remove(pool)
                told.append((pool, f"{pool}: the price of anarchy has fallen to {low:.3g}"))
            else:
                self._risen.add(pool)
                told.append((pool, f"{pool}: the price of anarchy is at least {low:.3g}"))
        return told
