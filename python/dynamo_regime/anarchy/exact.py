"""The best assignment of a window's requests when every move changes the loads."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamo_regime.anarchy.assignment import cheapest
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

    It is a min-cost flow with separable worker costs F_w(n) = n · l_w(n). Where F is convex, the
    k-th request on a worker costs F(k) − F(k − 1), and the optimum is proved. Where it is not (a
    curve that flattens beyond its pole), F is replaced by its convex envelope: that optimum is a
    lower bound, and the true cost of the assignment found, or of the realised one if that is less,
    an upper one.

    Args:
        worker: Index of the worker of each request as it was assigned, shape (n,).
        prefill_seconds: Of each request on each worker, shape (n, workers).
        curves: One a worker.

    Raises:
        InputError: No request, a shape that does not fit, a worker without a curve, or a cost that
            is negative or not finite.
    """
    taken, prefill = checked_game(worker, prefill_seconds, curves)
    cost = totals(curves, taken.size)

    envelope = np.array([_convex_envelope(total) for total in cost])
    best = cheapest(prefill, np.diff(envelope, axis=1))

    realised = social_cost(taken, prefill, cost)
    found = social_cost(best, prefill, cost)
    relaxed = social_cost(best, prefill, envelope)
    if realised < found:
        best, found = taken, realised
    return Optimum(realised, min(relaxed, found), found, best)


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
