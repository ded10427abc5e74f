"""How the controller takes part in a fleet: what it decides by, what it follows, what it proposes.

Every member runs the whole controller on the reading of the whole fleet, so that whoever comes to
decide has seen what its predecessor saw.
"""

from dynamo_regime.control.fleet.membership import Membership
from dynamo_regime.control.fleet.records import FleetDecision, PoolSetting
from dynamo_regime.control.fleet.status import FleetStatus
from dynamo_regime.control.orders import Orders
from dynamo_regime.control.profile import Setting
from dynamo_regime.control.reading import Reading
from dynamo_regime.control.verdict import Regime

SETTLING_SECONDS = 10.0
"""A member proposes nothing before it has watched the fleet for so long: its detector begins at no
load, and would take the fleet there."""


class Participation:
    """One frontend's controller in a fleet."""

    def __init__(self, fleet: Membership, *, readings_are_of_all: bool = False) -> None:
        """Begin as one that has seen nothing.

        Args:
            fleet: The frontend's place in it.
            readings_are_of_all: The frontend's own readings are of the whole fleet already, as
                from Prometheus; they must not be added up.
        """
        self._fleet = fleet
        self._readings_are_of_all = readings_are_of_all
        self._watching_since: float | None = None

    def reading(self, time: float, own: Reading) -> Reading:
        """What to decide by: the fleet's reading, or ``own`` while the fleet is out of reach."""
        self._fleet.report(own)
        merged = self._fleet.reading()
        if merged is None:
            self._watching_since = None
            return own
        if self._watching_since is None:
            self._watching_since = time
        return own if self._readings_are_of_all else merged

    def orders(self) -> Orders:
        """What to follow: the policy in force, kept while the fleet is out of reach."""
        policy = self._fleet.status().policy
        if policy is None:
            return Orders({}, None, "the fleet has no policy yet")
        decision = policy.decision
        return Orders(
            settings={
                each.pool: Setting(temperature=each.temperature, prefill_weight=each.prefill_weight)
                for each in decision.pools
            },
            regime=_regime(decision.regime),
            reason=f"version {policy.version} of the fleet ({policy.decider}): {decision.reason}",
        )

    def propose(self, time: float, decided: Orders) -> None:
        """Have ``decided`` put in force for all, if this frontend is the decider."""
        since = self._watching_since
        if since is None or time - since < SETTLING_SECONDS or not decided.settings:
            return
        self._fleet.propose(
            FleetDecision(
                pools=tuple(
                    PoolSetting(
                        pool=pool,
                        temperature=setting.temperature,
                        prefill_weight=setting.prefill_weight,
                    )
                    for pool, setting in decided.settings.items()
                ),
                regime=decided.regime,
                reason=decided.reason,
            )
        )

    def status(self) -> FleetStatus:
        """How this member stands."""
        return self._fleet.status()


def _regime(name: str | None) -> Regime | None:
    return Regime(name) if name in set(Regime) else None
