"""The best assignment of a window's requests when every move changes the loads."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment

from dynamo_regime.errors import InputError
from dynamo_regime.games.routing import Curve


@dataclass(frozen=True, slots=True, eq=False)
class Optimum:
    """Realised against optimal cost of one window, both by the same latency curves.

    Attributes:
        realised_seconds: Sum over the requests of latency and prefill, as they were assigned.
        lower_seconds: No assignment costs less.
        upper_seconds: What ``assignment`` costs; equal to the lower bound when proved optimal.
        assignment: The best worker found for each request, shape (n,).
    """

    realised_seconds: float
    lower_seconds: float
    upper_seconds: float
    assignment: NDArray[np.int64]

    @property
    def price(self) -> tuple[float, float]:
        """Bounds [L, U] of realised / optimum; L is at least 1."""
        return (
            self.realised_seconds / self.upper_seconds,
            self.realised_seconds / self.lower_seconds,
        )


def optimum(worker: ArrayLike, prefill_seconds: ArrayLike, curves: Sequence[Curve]) -> Optimum:
    """The social optimum of the game: minimise Σ_w n_w · l_w(n_w) + Σ_r prefill[r, w(r)].

    It is a min-cost flow with separable worker costs F_w(n) = n · l_w(n). Where F is convex the
    k-th request on a worker costs F(k) − F(k − 1), and the flow is an assignment of requests to
    such slots. Where it is not (a curve that flattens beyond its pole), the slots are those of the
    convex envelope of F: their optimum is a lower bound, and the true cost of the assignment found,
    or of the realised one if that is less, an upper one. In an optimum no slot costs more than
    the dearest worker's slot ⌊n / workers⌋ + 1 and the largest difference in prefill, since the
    least loaded worker would be better; what is dearer is left out.

    Args:
        worker: Index of the worker of each request as it was assigned, shape (n,).
        prefill_seconds: Of each request on each worker, shape (n, workers).
        curves: One a worker.

    Raises:
        InputError: No request, a shape that does not fit, a worker without a curve, or a cost that
            is negative or not finite.
    """
    taken, prefill = checked_game(worker, prefill_seconds, curves)
    n, workers = prefill.shape
    cost = totals(curves, n)

    envelope = np.array([_convex_envelope(total) for total in cost])
    marginal = np.diff(envelope, axis=1)
    spread = float((prefill.max(axis=1) - prefill.min(axis=1)).max())
    dearest = float(marginal[:, min(n // workers, n - 1)].max()) + spread
    owner, slot = np.nonzero(marginal <= dearest + 1e-9 * abs(dearest))
    best = owner[cheapest_slots(prefill[:, owner] + marginal[owner, slot])]

    realised = social_cost(taken, prefill, cost)
    found = social_cost(best, prefill, cost)
    relaxed = social_cost(best, prefill, envelope)
    if realised < found:
        best, found = taken, realised
    return Optimum(realised, min(relaxed, found), found, best)


def cheapest_slots(cost: NDArray[np.float64]) -> NDArray[np.int64]:
    """The slot of each request, each at most once, with the least sum of costs.

    Rows that cost nothing stand for the slots that stay free. Then every slot is taken, a constant
    of a slot changes nothing, and taking each one's least cost off it first makes the Hungarian
    method some nine times as fast on slots that are alike.

    Args:
        cost: Of each request in each slot, shape (n, slots), n ≤ slots.

    Returns:
        Index of a slot, shape (n,).
    """
    n, slots = cost.shape
    square = np.zeros((slots, slots))
    square[:n] = cost
    square -= cost.min(axis=0)
    return np.asarray(linear_sum_assignment(square)[1][:n], dtype=np.int64)


def checked_game(
    worker: ArrayLike, prefill_seconds: ArrayLike, curves: Sequence[Curve]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Workers, shape (n,), and prefill times, shape (n, workers), of a window that has requests.

    Raises:
        InputError: They do not fit, or a time is negative or not finite.
    """
    taken = np.asarray(worker, dtype=np.int64)
    prefill = np.asarray(prefill_seconds, dtype=np.float64)
    n, workers = taken.size, len(curves)
    if n == 0:
        raise InputError("the window has no request: there is nothing to assign")
    if prefill.shape != (n, workers):
        raise InputError(
            f"prefill times of shape {prefill.shape} for {n} requests and {workers} workers: "
            f"give ({n}, {workers})"
        )
    if taken.min() < 0 or taken.max() >= workers:
        raise InputError(f"a request's worker has no curve: there are {workers}, from 0")
    if not (np.isfinite(prefill).all() and prefill.min() >= 0.0):
        raise InputError("a prefill time is negative or not finite: mend the request's blocks")
    return taken, prefill


def totals(curves: Sequence[Curve], n: int) -> NDArray[np.float64]:
    """F_w(k) = k · l_w(k) for k = 0 … n, shape (workers, n + 1).

    Raises:
        InputError: A curve is not positive and finite.
    """
    k = np.arange(1, n + 1, dtype=np.float64)
    totals = np.zeros((len(curves), n + 1))
    for row, curve in zip(totals, curves, strict=True):
        row[1:] = k * np.asarray(curve(k), dtype=np.float64)
    if not (np.isfinite(totals).all() and (totals[:, 1:] > 0.0).all()):
        raise InputError(
            f"a latency curve is not positive and finite up to {n} requests: give one that is"
        )
    return totals


def social_cost(
    worker: NDArray[np.int64], prefill: NDArray[np.float64], totals: NDArray[np.float64]
) -> float:
    """Σ_w F_w(n_w) + Σ_r prefill[r, w(r)], with F from :func:`totals`."""
    workers = totals.shape[0]
    loads = np.bincount(worker, minlength=workers)
    return float(
        totals[np.arange(workers), loads].sum() + prefill[np.arange(worker.size), worker].sum()
    )


def _convex_envelope(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The largest convex function below the values at 0, 1, …: the lower hull."""
    slopes = np.diff(values)
    if (np.diff(slopes) >= 0.0).all():
        return values
    hull: list[int] = []
    for k in range(values.size):
        while len(hull) >= 2:
            i, j = hull[-2], hull[-1]
            if (values[j] - values[i]) * (k - i) < (values[k] - values[i]) * (j - i):
                break
            hull.pop()
        hull.append(k)
    return np.interp(np.arange(values.size), hull, values[hull])
