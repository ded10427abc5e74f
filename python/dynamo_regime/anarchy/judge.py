"""The price of anarchy of many windows: together, over time, and by requests in flight."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamo_regime.anarchy.combine import Combined, combine
from dynamo_regime.anarchy.curves import Costs
from dynamo_regime.anarchy.frozen import FEW_IN_FLIGHT
from dynamo_regime.anarchy.price import WindowPrice, equilibrium_seconds, price
from dynamo_regime.anarchy.window import Requests, at_moment
from dynamo_regime.errors import InputError

_BUCKETS = (1, 2, 4, 8, 16, 32, 64, 96, 128, 192, 256, 384, 512)


@dataclass(frozen=True, slots=True)
class JudgedWindow:
    """A window, and where its requests would come to rest.

    Attributes:
        price: Interval, estimate and excess.
        equilibrium_seconds: What it would cost at rest.
    """

    price: WindowPrice
    equilibrium_seconds: float


@dataclass(frozen=True, slots=True)
class Together:
    """Windows as ratios of sums, with 95 % bootstrap intervals.

    Attributes:
        low: Realised / upper bound of the optimum.
        high: Realised / lower bound of it.
        equilibrium: Cost at rest / upper bound of the optimum.
        frozen: The paper's estimate, measured / frozen.
        queueing: Share of queueing in the excess of the measured latencies; the three add up to 1.
        imbalance: Share of imbalance.
        cache_loss: Share of lost cache.
        excess_seconds: That excess, per request in flight and window.
        excess_share: Its share of the measured latencies; near 0 the shares in it say nothing.
    """

    low: Combined
    high: Combined
    equilibrium: Combined
    frozen: Combined
    queueing: float
    imbalance: float
    cache_loss: float
    excess_seconds: float
    excess_share: float


def judge(
    requests: Requests,
    costs: Costs,
    moments_seconds: ArrayLike,
    progress: Callable[[int, int], None] | None = None,
) -> list[JudgedWindow]:
    """Judge the windows at some moments.

    Args:
        requests: Finished requests.
        costs: What the game costs.
        moments_seconds: On the clock of the requests, shape (m,). One at which nothing was in
            flight gives no window.
        progress: Is told how many of how many moments are done.

    Raises:
        InputError: No request, or none was in flight at any moment.
    """
    moments = np.asarray(moments_seconds, dtype=np.float64).tolist()
    judged = []
    for number, moment in enumerate(moments, 1):
        window = at_moment(requests, moment)
        if len(window) > 0:
            judged.append(JudgedWindow(price(window, costs), equilibrium_seconds(window, costs)))
        if progress is not None:
            progress(number, len(moments))
    if not judged:
        raise InputError(
            f"no request was in flight at any of {len(moments)} moments: look at more of them"
        )
    return judged


def evenly(requests: Requests, count: int) -> NDArray[np.float64]:
    """So many evenly spaced moments from the first start to the last end, shape (count,).

    Raises:
        InputError: There is no request.
    """
    if len(requests) == 0:
        raise InputError("there is no request: there is nothing to judge")
    end = float((requests.start_seconds + requests.latency_seconds).max())
    edges = np.linspace(float(requests.start_seconds.min()), end, count + 1)
    return np.asarray((edges[:-1] + edges[1:]) / 2.0)


def together(windows: Sequence[JudgedWindow], block: int = 1) -> Together:
    """Windows as ratios of sums.

    Args:
        windows: In order of time, at least one.
        block: Windows that share requests, for the bootstrap.
    """
    prices = [each.price for each in windows]
    realised = [each.realised_seconds for each in prices]
    measured = [each.measured_seconds for each in prices]
    upper = [each.optimum_high_seconds for each in prices]
    parts = {
        name: sum(getattr(each.excess, name) for each in prices)
        for name in ("queueing", "imbalance", "cache_loss")
    }
    excess = sum(parts.values())
    return Together(
        low=combine(realised, upper, block=block),
        high=combine(realised, [each.optimum_low_seconds for each in prices], block=block),
        equilibrium=combine([each.equilibrium_seconds for each in windows], upper, block=block),
        frozen=combine(measured, [each.frozen.frozen_seconds for each in prices], block=block),
        **{name: part / excess if excess else 0.0 for name, part in parts.items()},
        excess_seconds=excess / sum(each.in_flight for each in prices),
        excess_share=excess / sum(measured),
    )


def by_load(windows: Sequence[JudgedWindow]) -> dict[str, list[JudgedWindow]]:
    """The windows by requests in flight, in the ladder of the paper's sweep."""
    found: dict[str, list[JudgedWindow]] = {}
    for low, high in zip(_BUCKETS, (*_BUCKETS[1:], None), strict=True):
        name = f"{low}" if high == low + 1 else f"{low}–{high - 1}" if high else f"{low} and more"
        members = [
            each
            for each in windows
            if low <= each.price.in_flight and (high is None or each.price.in_flight < high)
        ]
        if members:
            found[name] = members
    return found


def flags(windows: Sequence[JudgedWindow], costs: Costs) -> list[str]:
    """What is to be said of the paper's estimate on these windows, each a sentence."""
    count = len(windows)
    few = sum(each.price.frozen.few_in_flight for each in windows)
    below = sum(each.price.frozen.below_one for each in windows)
    past = sum(each.price.past_saturation for each in windows)
    said = []
    if few:
        said.append(
            f"{few} of {count} windows have {FEW_IN_FLIGHT} requests or fewer: keep their estimate"
            " out of conclusions."
        )
    if below:
        said.append(f"In {below} of {count} the estimate is below 1, which no price is.")
    if past:
        said.append(f"In {past} of {count} a worker is past its n_sat.")
    if costs.origin == "line":
        said.append(
            "The curve is a line fitted to these requests, which do not show where a worker"
            " saturates: the scale of the estimate means little."
        )
    return said
