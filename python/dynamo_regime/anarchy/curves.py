"""What the game costs: a worker's latency by its load, and what a block of prefill takes."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from dynamo_regime.anarchy.window import Requests
from dynamo_regime.errors import InputError
from dynamo_regime.games.routing import Curve
from dynamo_regime.sim.calibrate import calibrate
from dynamo_regime.sim.latency import PoleModel

_MOST_ROWS = 5_000
_LEAST_ROWS = 20


@dataclass(frozen=True, slots=True)
class Costs:
    """The costs of one pool, all of whose workers are alike.

    Attributes:
        curve: Latency of a request whose prompt is wholly cached, by the load of its worker.
        seconds_per_block: What each block adds that is not cached.
        origin: Where they come from: ``given``, ``pole`` (fitted, with n_sat) or ``line`` (fitted;
            the requests do not show where a worker saturates).
        n_sat: Where a worker saturates; None of a line.
    """

    curve: Curve
    seconds_per_block: float
    origin: str
    n_sat: float | None

    @classmethod
    def given(cls, model: PoleModel, seconds_per_block: float) -> "Costs":
        """Costs that were calibrated elsewhere."""
        return cls(model.seconds, seconds_per_block, "given", model.n_sat)


def fitted(requests: Requests) -> Costs:
    """Costs fitted to the requests themselves.

    First a line in the mean load and in the uncached blocks, by non-negative least squares on
    relative errors; then, with the time of a block known, the pole (:func:`calibrate`), if the
    requests show it. Beyond the highest load there was, the curve goes on as its tangent. Of more
    than 5,000 requests, evenly spaced ones are taken.

    Raises:
        InputError: There are fewer than 20 requests.
    """
    if len(requests) < _LEAST_ROWS:
        raise InputError(
            f"{len(requests)} requests are too few to fit a latency curve to: give at least"
            f" {_LEAST_ROWS}, or the curve"
        )
    rows = np.linspace(0, len(requests) - 1, min(len(requests), _MOST_ROWS)).astype(np.int64)
    load = requests.mean_load()[rows]
    latency = requests.latency_seconds[rows]
    uncached = (requests.prompt_blocks - requests.cached_blocks)[rows]
    columns = np.column_stack([load, np.ones(load.size), uncached]) / latency[:, None]
    a, b, seconds_per_block = nnls(columns, np.ones(load.size))[0].tolist()
    own = latency - seconds_per_block * uncached
    known = own > 0.0
    try:
        model = calibrate(load[known], own[known]).model
    except InputError:
        # A curve must be above 0 everywhere.
        floor = float(latency.min()) * 1e-3
        line = PoleModel(a=a, b=max(b, floor), d=0.0, n_sat=1.0, beta=1.0)
        return Costs(line.seconds, seconds_per_block, "line", None)
    return Costs(_up_to(model, float(load.max())), seconds_per_block, "pole", model.n_sat)


def _up_to(model: PoleModel, highest: float) -> Curve:
    """The curve to the highest load that it was fitted to, and from there on its tangent.

    Nothing is known of it beyond, and its pole would make any cost of one that is.
    """
    step = 1e-3 * highest
    last, before = model.seconds([highest, highest - step]).tolist()
    slope = (last - before) / step

    def curve(requests: NDArray[np.float64]) -> NDArray[np.float64]:
        inside = model.seconds(np.minimum(requests, highest))
        return np.asarray(inside + slope * np.maximum(requests - highest, 0.0))

    return curve
