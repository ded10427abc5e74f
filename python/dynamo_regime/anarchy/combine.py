"""One figure for a long trace: a ratio of sums with an interval."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dynamo_regime.errors import InputError

_RESAMPLES = 2_000


@dataclass(frozen=True, slots=True)
class Combined:
    """Σ realised / Σ optimum over windows.

    Attributes:
        price: The ratio of the sums.
        low: Lower end of its bootstrap interval; None of fewer than two blocks.
        high: Upper end.
        windows: Windows in it.
    """

    price: float
    low: float | None
    high: float | None
    windows: int


def combine(
    realised_seconds: ArrayLike,
    optimal_seconds: ArrayLike,
    *,
    block: int = 1,
    confidence: float = 0.95,
) -> Combined:
    """The price over all windows, weighted by what they cost, and not the mean of their prices.

    The interval is a percentile bootstrap over blocks of consecutive windows. Windows that share
    requests are not independent: make a block longer than a request is in flight.

    Args:
        realised_seconds: Of each window, in order of time, shape (n,).
        optimal_seconds: Of each window, positive, shape (n,).
        block: Windows in a block.
        confidence: Share of such intervals that hold the true ratio.

    Raises:
        InputError: Shapes that differ, no window, or a sum that is not positive and finite.
    """
    top = np.asarray(realised_seconds, dtype=np.float64)
    bottom = np.asarray(optimal_seconds, dtype=np.float64)
    if top.ndim != 1 or top.shape != bottom.shape or top.size == 0:
        raise InputError(
            f"sums of shape {top.shape} and {bottom.shape}: give two columns of one length"
        )
    if not (np.isfinite(top).all() and np.isfinite(bottom).all() and (bottom > 0.0).all()):
        raise InputError("a window's cost is not positive and finite: leave the window out")
    if block < 1 or not 0.0 < confidence < 1.0:
        raise InputError(
            f"blocks of {block} at a confidence of {confidence}: give 1 or more, and a share"
        )
    edges = np.arange(0, top.size, block)
    tops, bottoms = np.add.reduceat(top, edges), np.add.reduceat(bottom, edges)
    low: float | None = None
    high: float | None = None
    if edges.size > 1:
        generator = np.random.default_rng(0)
        ratios = np.empty(_RESAMPLES)
        for k in range(_RESAMPLES):  # one at a time: bounded memory for any number of windows
            drawn = generator.integers(edges.size, size=edges.size)
            ratios[k] = tops[drawn].sum() / bottoms[drawn].sum()
        tail = (1.0 - confidence) / 2.0
        low, high = (float(end) for end in np.quantile(ratios, (tail, 1.0 - tail)))
    return Combined(float(top.sum() / bottom.sum()), low, high, top.size)
