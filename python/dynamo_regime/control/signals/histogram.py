"""Prometheus histograms: what was added between two scrapes, and quantiles of it.

A bucket counts all observations up to its upper bound, since its process began. Nothing in here
raises over what a server sends: an unusable histogram is None, which stands for "absent".
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self, TypeVar

from dynamo_regime.control.reading import Latency, Quantile

K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class Histogram:
    """Cumulative counts by upper bound; made by :meth:`from_buckets`.

    Attributes:
        upper_bounds: Ascending, the last of them +Inf. The unit is the metric's own.
        counts: How many observations are at or below each bound; never falling, never negative.
    """

    upper_bounds: tuple[float, ...]
    counts: tuple[float, ...]

    @classmethod
    def from_buckets(cls, buckets: Iterable[tuple[float, float]]) -> Self | None:
        """Make one of (upper bound, cumulative count), in any order.

        Counts that fall from one bound to the next are levelled up, as Prometheus does: they come
        from rates over slightly different instants.

        Returns:
            None if a value is NaN or negative infinity, a count is negative or infinite, a bound
            comes twice, or there is no bound +Inf: what is left of such a histogram would lie.
        """
        pairs = sorted(buckets, key=lambda pair: pair[0])
        bounds = tuple(bound for bound, _ in pairs)
        if not bounds or bounds[-1] != math.inf or len(set(bounds)) != len(bounds):
            return None
        counts = []
        level = 0.0
        for bound, count in pairs:
            if math.isnan(bound) or bound == -math.inf or not math.isfinite(count) or count < 0:
                return None
            level = max(level, count)
            counts.append(level)
        return cls(bounds, tuple(counts))

    @property
    def total(self) -> float:
        """Number of observations."""
        return self.counts[-1]

    def since(self, earlier: "Histogram | None") -> "Histogram":
        """What was observed after ``earlier``, an older scrape of the same series.

        A count that fell, or other bounds, say that the process was started anew in between: then
        everything here is new. So it is when the series did not exist before (None).
        """
        if earlier is None or earlier.upper_bounds != self.upper_bounds:
            return self
        pairs = tuple(zip(self.counts, earlier.counts, strict=True))
        if any(now < before for now, before in pairs):
            return self
        # The difference of two rising sequences need not rise: a scrape is not atomic.
        return _levelled(self.upper_bounds, (now - before for now, before in pairs))

    def quantile(self, q: float) -> Quantile | None:
        """The value below which the fraction ``q`` of observations lies, as ``histogram_quantile``.

        Observations are taken to be spread evenly within their bucket, the lowest of which begins
        at 0. The true value lies in the same bucket, so the error is less than its width. A
        quantile in the last bucket has no upper end: the highest finite bound is returned, which
        it exceeds, and marked.

        Source: Prometheus' documentation of ``histogram_quantile`` (classic histograms).

        Returns:
            None without observations, or without any finite bound.

        Raises:
            ValueError: ``q`` is not within (0, 1].
        """
        if not 0.0 < q <= 1.0:
            raise ValueError(f"a quantile is within (0, 1], and {q} is not")
        if self.total <= 0 or len(self.upper_bounds) < 2:
            return None
        rank = q * self.total
        index = next(i for i, count in enumerate(self.counts) if count >= rank)
        upper = self.upper_bounds[index]
        if upper == math.inf:
            return Quantile(self.upper_bounds[index - 1], in_last_bucket=True)
        if index == 0:
            lower, below = min(0.0, upper), 0.0
        else:
            lower, below = self.upper_bounds[index - 1], self.counts[index - 1]
        within = (rank - below) / (self.counts[index] - below)
        return Quantile(lower + (upper - lower) * within)


def merge(histograms: Iterable[Histogram]) -> Histogram | None:
    """The histogram of all observations together, at the bounds that all of them share.

    Its counts are exact whatever the bounds: where layouts differ (two versions in one fleet, a
    restart with other settings) it has fewer buckets. None of nothing is None.
    """
    parts = list(histograms)
    if not parts:
        return None
    shared = set(parts[0].upper_bounds).intersection(*(part.upper_bounds for part in parts[1:]))
    by_bound = [dict(zip(part.upper_bounds, part.counts, strict=True)) for part in parts]
    bounds = tuple(sorted(shared))
    return Histogram(bounds, tuple(sum(part[bound] for part in by_bound) for bound in bounds))


def latency(histogram: Histogram | None, minimum_count: float) -> Latency | None:
    """Count and quantiles of a window; the quantiles are None below ``minimum_count``.

    Args:
        histogram: Of the window, in seconds; None if there was no telling.
        minimum_count: Below this many observations a quantile says more of chance than of load.
    """
    if histogram is None:
        return None
    enough = histogram.total >= minimum_count
    return Latency(
        count=round(histogram.total),
        p50=histogram.quantile(0.50) if enough else None,
        p99=histogram.quantile(0.99) if enough else None,
    )


def added(
    now: Mapping[K, Histogram | None], before: Mapping[K, Histogram | None]
) -> Histogram | None:
    """What all series of a metric gained between two scrapes, together.

    Args:
        now: The later scrape, by series; a series that could not be used is None and left out.
        before: What is known of earlier scrapes. A series that it lacks was born in between; one
            that could not be used then is left out, since how much of it is new is unknown.
    """
    return merge(
        histogram.since(before.get(series))
        for series, histogram in now.items()
        if histogram is not None and before.get(series, histogram) is not None
    )


def _levelled(bounds: tuple[float, ...], counts: Iterable[float]) -> Histogram:
    level = 0.0
    levelled = []
    for count in counts:
        level = max(level, count)
        levelled.append(level)
    return Histogram(bounds, tuple(levelled))
