"""What repetitions say: mean and deviation, and whether a difference is more than noise."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamo_regime.errors import InputError

FEWEST_PAIRS = 6
"""Fewer pairs give no interval of 95 %: that of five covers at most 1 − 2·2⁻⁵ = 94 %."""
_RESAMPLES = 10_000


@dataclass(frozen=True, slots=True)
class Estimate:
    """A quantity over repetitions.

    Attributes:
        mean: Its mean.
        deviation: Sample standard deviation; None of a single repetition.
        count: Repetitions in which it is known.
    """

    mean: float
    deviation: float | None
    count: int


def estimate(values: Sequence[float | None]) -> Estimate | None:
    """Mean and standard deviation of the values that are known; None if none is."""
    known = np.array([value for value in values if value is not None and math.isfinite(value)])
    if known.size == 0:
        return None
    deviation = float(known.std(ddof=1)) if known.size > 1 else None
    return Estimate(float(known.mean()), deviation, int(known.size))


class Verdict(StrEnum):
    """What a difference is worth."""

    LOWER = "lower"
    HIGHER = "higher"
    EQUAL = "equal"
    """Every pair is equal."""
    NOISE = "noise"
    """The interval has 0 in it."""
    TOO_FEW = "too few pairs"


@dataclass(frozen=True, slots=True)
class Change:
    """How a mean changes from one side to the other, over pairs.

    Attributes:
        before: Mean of the one.
        after: Mean of the other.
        change: after / before − 1.
        low: Lower end of the interval of ``change``; None with too few pairs.
        high: Upper end.
        pairs: Number of pairs.
        verdict: What it is worth.
    """

    before: float
    after: float
    change: float
    low: float | None
    high: float | None
    pairs: int
    verdict: Verdict


def paired_change(before: ArrayLike, after: ArrayLike, confidence: float = 0.95) -> Change:
    """The change of a mean, with a paired bootstrap interval.

    Pairs are drawn with replacement, and the quantiles of the ratio of the means are taken at the
    levels that make up for a bootstrap's too narrow intervals of few pairs: Φ(−√(n/(n−1))·t) with
    Student's t of n − 1 degrees of freedom (T. Hesterberg, The American Statistician 69 (2015),
    371–386, "expanded percentile interval"). The same input has the same interval.

    Args:
        before: One positive value a pair, shape (n,).
        after: The values that they are compared with, shape (n,).
        confidence: Share of such intervals that hold the true change.

    Raises:
        InputError: The shapes differ, a value is not finite, or ``before`` has no positive mean.
    """
    first = np.asarray(before, dtype=np.float64)
    second = np.asarray(after, dtype=np.float64)
    if first.ndim != 1 or first.shape != second.shape or first.size == 0:
        raise InputError(
            f"pairs of shape {first.shape} and {second.shape}: give two columns of one length"
        )
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        raise InputError("a value of a pair is not finite: leave the pair out")
    if first.mean() <= 0.0:
        raise InputError("the values to compare with have no positive mean: no ratio can be given")
    change = float(second.mean() / first.mean() - 1.0)
    low: float | None = None
    high: float | None = None
    if np.array_equal(first, second):
        verdict = Verdict.EQUAL
    elif first.size < FEWEST_PAIRS:
        verdict = Verdict.TOO_FEW
    else:
        low, high = _interval(first, second, confidence)
        if high < 0.0:
            verdict = Verdict.LOWER
        elif low > 0.0:
            verdict = Verdict.HIGHER
        else:
            verdict = Verdict.NOISE
    return Change(
        before=float(first.mean()),
        after=float(second.mean()),
        change=change,
        low=low,
        high=high,
        pairs=int(first.size),
        verdict=verdict,
    )


def _interval(
    before: NDArray[np.float64], after: NDArray[np.float64], confidence: float
) -> tuple[float, float]:
    from scipy.stats import norm, t

    pairs = before.size
    drawn = np.random.default_rng(0).integers(pairs, size=(_RESAMPLES, pairs))
    # Draws whose denominator is 0 tell of no ratio.
    bottom = before[drawn].mean(axis=1)
    ratios = after[drawn].mean(axis=1)[bottom > 0.0] / bottom[bottom > 0.0] - 1.0
    quantile = float(t.ppf((1.0 - confidence) / 2.0, pairs - 1))
    tail = float(norm.cdf(math.sqrt(pairs / (pairs - 1)) * quantile))
    low, high = np.quantile(ratios, (tail, 1.0 - tail))
    return float(low), float(high)


def batch_means(values: ArrayLike, batches: int) -> NDArray[np.float64]:
    """Means of so many runs of consecutive values, NaN left out; shape (batches,).

    Requests that follow each other share a queue and are not independent; means of long batches
    nearly are (A. M. Law, Simulation Modeling and Analysis, "batch means").

    Args:
        values: In the order of the workload, shape (n,) with n ≥ batches.
        batches: How many.

    Raises:
        InputError: There are fewer values than batches.
    """
    column = np.asarray(values, dtype=np.float64)
    if column.size < batches:
        raise InputError(f"{column.size} values cannot be cut into {batches} batches")
    parts = np.array_split(column, batches)
    return np.array(
        [part[np.isfinite(part)].mean() if np.isfinite(part).any() else math.nan for part in parts]
    )
