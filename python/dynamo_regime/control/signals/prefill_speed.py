"""How fast a worker prefills, as far as finished prefills tell."""

from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_REMEMBERED_SECONDS = 300.0
_BUSY_SECONDS = 30.0
_BUSY_ROWS = 2_000
_LEAST_ROWS = 8
_LEAST_SPAN_SECONDS = 1.0
_ABSURD = 1e12  # Tokens or seconds, which nobody has seen; NaN compares as such, too.


@dataclass(frozen=True, slots=True, eq=False)
class Prefills:
    """Prefills as columns of shape ``(n,)``; what is not known is NaN.

    Attributes:
        worker: Who did it.
        end_seconds: When the first token came, on any clock.
        uncached_tokens: Prompt tokens that had to be computed.
        seconds: From the choice of the worker to the first token.
    """

    worker: NDArray[np.uint64]
    end_seconds: NDArray[np.float64]
    uncached_tokens: NDArray[np.float64]
    seconds: NDArray[np.float64]

    def where(self, rows: NDArray[np.bool_]) -> "Prefills":
        """These rows of it."""
        return Prefills(
            self.worker[rows],
            self.end_seconds[rows],
            self.uncached_tokens[rows],
            self.seconds[rows],
        )


class PrefillSpeed:
    """Tokens that a worker computes in a second of prefill: the highest of two lower bounds.

    The time that a prefill takes holds its wait within the worker, so tokens by that time say too
    little while there is a backlog. What a worker gets done between its first and its last prefill
    of the last half minute says too little while there is none. The highest that either showed in
    the last five minutes counts.
    """

    def __init__(self, window_seconds: float) -> None:
        """Know nothing.

        Args:
            window_seconds: Over which tokens by prefill time are taken.
        """
        self._window_seconds = window_seconds
        self._prefills: deque[tuple[float, Prefills]] = deque()
        self._rows = 0
        self._highest: deque[tuple[float, float]] = deque()

    def add(self, time: float, prefills: Prefills) -> None:
        """Take in what was seen at ``time``, in seconds on the caller's clock."""
        tokens = prefills.uncached_tokens
        known = prefills.where((tokens > 0) & (tokens < _ABSURD))
        self._prefills.append((time, known))
        self._rows += known.worker.size
        while len(self._prefills) > 1 and (
            self._rows > _BUSY_ROWS or not 0 <= time - self._prefills[0][0] <= _BUSY_SECONDS
        ):
            self._rows -= self._prefills.popleft()[1].worker.size

    def at(self, time: float) -> float | None:
        """Tokens per second; None if nothing was seen in five minutes."""
        bounds = (self._by_time(time), self._by_work())
        speed = max((bound for bound in bounds if bound is not None), default=None)
        if speed is not None and np.isfinite(speed):
            while self._highest and self._highest[-1][1] <= speed:
                self._highest.pop()
            self._highest.append((time, speed))
        while self._highest and not 0 <= time - self._highest[0][0] <= _REMEMBERED_SECONDS:
            self._highest.popleft()
        return self._highest[0][1] if self._highest else None

    def _by_time(self, time: float) -> float | None:
        """Tokens by the time that the prefills of the window took, their waits included."""
        begin = time - 1.001 * self._window_seconds
        recent = [prefills for seen, prefills in self._prefills if seen > begin]
        timed = [
            prefills.where((prefills.seconds > 0) & (prefills.seconds < _ABSURD))
            for prefills in recent
        ]
        seconds = sum(float(prefills.seconds.sum()) for prefills in timed)
        tokens = sum(float(prefills.uncached_tokens.sum()) for prefills in timed)
        return tokens / seconds if seconds > 0 else None

    def _by_work(self) -> float | None:
        """The most that a worker got done, by the time from its first prefill's end to its last's.

        The first is left out, as its time is, and the largest, much of which may have been computed
        before; at least eight prefills and a second are asked for.
        """
        dated = [each.where(np.abs(each.end_seconds) < _ABSURD) for _, each in self._prefills]
        worker = np.concatenate([each.worker for each in dated])
        end = np.concatenate([each.end_seconds for each in dated])
        tokens = np.concatenate([each.uncached_tokens for each in dated])
        if worker.size < _LEAST_ROWS:
            return None
        order = np.lexsort((end, worker))
        worker, end, tokens = worker[order], end[order], tokens[order]
        begins = np.flatnonzero(np.r_[True, worker[1:] != worker[:-1]])
        counts = np.diff(np.r_[begins, worker.size])
        first, last = end[begins], end[begins + counts - 1]
        later = np.where(end > np.repeat(first, counts), tokens, 0.0)
        done = np.add.reduceat(later, begins) - np.maximum.reduceat(later, begins)
        span = last - first
        enough = (counts >= _LEAST_ROWS) & (span >= _LEAST_SPAN_SECONDS) & (done > 0)
        return float((done[enough] / span[enough]).max()) if enough.any() else None
