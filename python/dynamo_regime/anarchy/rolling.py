"""The price of anarchy of the last minute, from requests as they finish."""

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from dynamo_regime.anarchy.curves import fitted
from dynamo_regime.anarchy.judge import Together, judge, together
from dynamo_regime.anarchy.source import Facts, Pool, facts_of, of_facts
from dynamo_regime.anarchy.window import Requests
from dynamo_regime.errors import InputError

_MOST = 20_000
_LEAST = 50
_MOMENTS = 8


class RollingPrice:
    """Keeps the requests that ended in the last minute, at most 20,000, and judges them."""

    def __init__(self, window_seconds: float = 60.0) -> None:
        """Begin with nothing.

        Args:
            window_seconds: How far back requests count.
        """
        self.window_seconds = window_seconds
        self.incomplete = 0
        """Requests that failed or lacked a worker or a time: they are in no price."""
        self._facts: deque[tuple[float, Facts]] = deque(maxlen=_MOST)

    def add(self, events: Iterable[Mapping[str, Any]]) -> None:
        """Add ``request_end`` events of Dynamo's request trace, as they came."""
        for event in events:
            found = facts_of(event)
            if found is None:
                self.incomplete += 1
            else:
                received, total = found[2], found[4]
                self._facts.append((received + total, found))

    def price(self, now_unix: float) -> dict[Pool, Together]:
        """By pool, at eight moments; a pool with fewer than 50 requests is left out.

        Who is in flight now has not ended and is not known. So the latest moment lies as far back
        as 95 of 100 requests take; where that is further than the window, nothing can be told.

        Args:
            now_unix: In seconds since the UNIX epoch.
        """
        begin = now_unix - self.window_seconds
        while self._facts and self._facts[0][0] < begin:
            self._facts.popleft()
        facts = [each for _, each in self._facts]
        pools: tuple[Pool, ...] = ("aggregated",)
        if any(each[0] != each[1] for each in facts):
            pools = ("prefill", "decode")
        found = {}
        for pool in pools if len(facts) >= _LEAST else ():
            priced = self._of(of_facts(facts, pool, pool), begin, now_unix)
            if priced is not None:
                found[pool] = priced
        return found

    def _of(self, requests: Requests, begin: float, now: float) -> Together | None:
        end = now - float(np.quantile(requests.latency_seconds, 0.95))
        if end <= begin:
            return None
        edges = np.linspace(begin, end, _MOMENTS + 1)
        moments = (edges[:-1] + edges[1:]) / 2.0
        try:
            return together(judge(requests, fitted(requests), moments))
        except InputError:  # Nothing in flight at any of them.
            return None
