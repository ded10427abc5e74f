"""What every pool is to be set to."""

from collections.abc import Mapping
from dataclasses import dataclass

from dynamo_regime.control.profile import Setting
from dynamo_regime.control.verdict import Regime


@dataclass(frozen=True, slots=True)
class Orders:
    """A decision, the controller's own or a fleet's.

    Attributes:
        settings: By pool; one that is not in it is left alone.
        regime: The regime that they are for; None if they are for none.
        reason: Why, in a phrase that people can read.
    """

    settings: Mapping[str, Setting]
    regime: Regime | None
    reason: str
