"""The price of anarchy of one window: an interval, the paper's estimate, and what explains it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dynamo_regime.anarchy.curves import Costs
from dynamo_regime.anarchy.exact import Optimum, optimum
from dynamo_regime.anarchy.frozen import Frozen, frozen
from dynamo_regime.anarchy.window import Window
from dynamo_regime.games.routing import CongestionGame, best_response, social_cost_seconds


@dataclass(frozen=True, slots=True)
class Excess:
    """What requests took beyond the optimum, in seconds; the three add up to the whole.

    Attributes:
        queueing: Measured latencies beyond what the load of their workers explains: waiting that no
            assignment of the same requests takes away. It may be negative.
        imbalance: Latency from the loads as they were, beyond that from the optimum's loads.
        cache_loss: Prefill as it was, beyond the optimum's. Negative where the optimum gives up
            cached blocks for balance.
    """

    queueing: float
    imbalance: float
    cache_loss: float

    @property
    def total(self) -> float:
        """Measured − optimum."""
        return self.queueing + self.imbalance + self.cache_loss


@dataclass(frozen=True, slots=True)
class WindowPrice:
    """One window.

    Attributes:
        time_seconds: Its moment.
        in_flight: Requests in it.
        measured_seconds: Sum of the measured latencies.
        realised_seconds: What the assignment as it was costs by the curves.
        optimum_low_seconds: No assignment costs less, whatever is cached on the other workers.
        optimum_high_seconds: Some assignment costs no more, whatever is cached there.
        frozen: The paper's estimate.
        past_saturation: A worker had as many requests as its n_sat, or more.
        excess: Of the measured latencies over the optimum, nothing being cached elsewhere.
    """

    time_seconds: float
    in_flight: int
    measured_seconds: float
    realised_seconds: float
    optimum_low_seconds: float
    optimum_high_seconds: float
    frozen: Frozen
    past_saturation: bool
    excess: Excess

    @property
    def low(self) -> float:
        """Lower bound of realised / optimum, at least 1."""
        return self.realised_seconds / self.optimum_high_seconds

    @property
    def high(self) -> float:
        """Upper bound of realised / optimum."""
        return self.realised_seconds / self.optimum_low_seconds


def price(window: Window, costs: Costs) -> WindowPrice:
    """The price of anarchy of a window with requests.

    Raises:
        InputError: It has none.
    """
    requests = window.requests
    curves = [costs.curve] * requests.workers
    nowhere = window.prefill_seconds(costs.seconds_per_block, cached_elsewhere=False)
    everywhere = window.prefill_seconds(costs.seconds_per_block, cached_elsewhere=True)
    worst = optimum(requests.worker, nowhere, curves)
    best = optimum(requests.worker, everywhere, curves)
    loads = window.loads
    return WindowPrice(
        time_seconds=window.time_seconds,
        in_flight=len(window),
        measured_seconds=float(requests.latency_seconds.sum()),
        realised_seconds=worst.realised_seconds,
        optimum_low_seconds=best.lower_seconds,
        optimum_high_seconds=worst.upper_seconds,
        frozen=frozen(requests.worker, requests.latency_seconds, nowhere, curves),
        past_saturation=costs.n_sat is not None and bool(loads.max() >= costs.n_sat),
        excess=_excess(window, nowhere, worst),
    )


def equilibrium_seconds(window: Window, costs: Costs) -> float:
    """What the window would cost if its requests, from where they are, moved until none gained.

    Best responses, the largest gain first (:mod:`dynamo_regime.games.routing`), with nothing cached
    on the workers not taken; as the bounds of :func:`price` it is at least ``optimum_low_seconds``.
    """
    requests = window.requests
    prefill = window.prefill_seconds(costs.seconds_per_block, cached_elsewhere=False)
    game = CongestionGame.routing([costs.curve] * requests.workers, prefill)
    return social_cost_seconds(game, best_response(game, requests.worker))


def _excess(window: Window, prefill: NDArray[np.float64], found: Optimum) -> Excess:
    requests = window.requests
    rows = np.arange(len(requests))
    here = float(prefill[rows, requests.worker].sum())
    there = float(prefill[rows, found.assignment].sum())
    return Excess(
        queueing=float(requests.latency_seconds.sum()) - found.realised_seconds,
        imbalance=(found.realised_seconds - here) - (found.upper_seconds - there),
        cache_loss=here - there,
    )
