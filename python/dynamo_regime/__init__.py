"""Router plug-in for NVIDIA Dynamo whose policy is swapped while it runs.

``Router`` is the selector itself, to be embedded in a gateway of one's own::

    router = Router(temperature=0.0, prefill_weight=1.0)
    decision = router.select(prefill_blocks=[12, 3, 40], active_blocks=[100, 120, 80])
    decision.worker  # index of the chosen worker
    router.swap(temperature=0.7)  # the next selection feels it

``PolicyTarget`` is what a router can be asked and told, whether it is this one or Dynamo's frontend
with the plug-in linked in.
"""

from dynamo_regime._core import BatchDecision, Decision, Router, __version__
from dynamo_regime.errors import InputError, PolicyError, RegimeError, UnknownPoolError
from dynamo_regime.target import Decisions, PolicyTarget, PoolPolicy

__all__ = [
    "BatchDecision",
    "Decision",
    "Decisions",
    "InputError",
    "PolicyError",
    "PolicyTarget",
    "PoolPolicy",
    "RegimeError",
    "Router",
    "UnknownPoolError",
    "__version__",
]
