"""How far the requests in flight are from the best assignment to workers: the price of anarchy."""

from dynamo_regime.anarchy.combine import Combined, combine
from dynamo_regime.anarchy.curves import Costs, fitted
from dynamo_regime.anarchy.exact import Optimum, optimum
from dynamo_regime.anarchy.frozen import Frozen, frozen
from dynamo_regime.anarchy.price import Excess, WindowPrice, equilibrium_seconds, price
from dynamo_regime.anarchy.window import Requests, Window, at_moment, in_flight

__all__ = [
    "Combined",
    "Costs",
    "Excess",
    "Frozen",
    "Optimum",
    "Requests",
    "Window",
    "WindowPrice",
    "at_moment",
    "combine",
    "equilibrium_seconds",
    "fitted",
    "frozen",
    "in_flight",
    "optimum",
    "price",
]
