"""The estimator PoA-hat of arXiv 2606.17081, with what is known to be wrong with it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamo_regime.anarchy.assignment import cheapest
from dynamo_regime.anarchy.exact import checked_game
from dynamo_regime.errors import InputError
from dynamo_regime.games.routing import Curve

FEW_IN_FLIGHT = 4
"""With so few requests or fewer the paper's own figures blow up."""


@dataclass(frozen=True, slots=True)
class Frozen:
    """PoA-hat of one window. It tells the regime, not the price of anarchy.

    Attributes:
        realised_seconds: Sum of the measured latencies.
        frozen_seconds: Cost of the best assignment on frozen latencies.
        few_in_flight: Four requests or fewer: keep it out of conclusions.
        below_one: The estimate is below 1, which no price of anarchy is.
    """

    realised_seconds: float
    frozen_seconds: float
    few_in_flight: bool
    below_one: bool

    @property
    def price(self) -> float:
        """Realised / frozen."""
        return self.realised_seconds / self.frozen_seconds


def frozen(
    worker: ArrayLike,
    latency_seconds: ArrayLike,
    prefill_seconds: ArrayLike,
    curves: Sequence[Curve],
) -> Frozen:
    """PoA-hat: measured latencies over the Hungarian method's cost on frozen ones.

    Entry (r, w) of the cost matrix is l_w at the load that w has now, at least 1, and the prefill
    of r there; it does not change when requests move, which is the estimator's known bias. The
    summary of the paper that this follows leaves open how many requests a worker may be given;
    here it is an even share, ⌈n / workers⌉ slots each.

    Args:
        worker: Index of the worker of each request, shape (n,).
        latency_seconds: Measured, shape (n,).
        prefill_seconds: Of each request on each worker, shape (n, workers).
        curves: One a worker. Uncalibrated curves make the scale of the estimate meaningless.

    Raises:
        InputError: No request, shapes that do not fit, or costs that are not positive.
    """
    taken, prefill = checked_game(worker, prefill_seconds, curves)
    n, workers = prefill.shape
    latency = np.asarray(latency_seconds, dtype=np.float64)
    if latency.shape != (n,):
        raise InputError(f"latencies of shape {latency.shape} for {n} requests: give ({n},)")
    loads = np.maximum(np.bincount(taken, minlength=workers), 1).astype(np.float64)
    entry = prefill + _at(curves, loads)
    share = -(-n // workers)
    marginal = np.where(np.arange(n) < share, 0.0, np.inf)
    best = cheapest(entry, np.broadcast_to(marginal, (workers, n)))
    total = float(entry[np.arange(n), best].sum())
    if not (np.isfinite(total) and total > 0.0):
        raise InputError(f"the frozen latencies add up to {total} s: give curves above 0")
    realised = float(latency.sum())
    return Frozen(realised, total, n <= FEW_IN_FLIGHT, realised < total)


def _at(curves: Sequence[Curve], loads: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.array(
        [float(curve(load[None])[0]) for curve, load in zip(curves, loads, strict=True)]
    )
