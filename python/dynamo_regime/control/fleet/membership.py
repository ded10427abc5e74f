"""What the controller needs of a fleet."""

from typing import Protocol

from dynamo_regime.control.fleet.records import FleetDecision
from dynamo_regime.control.fleet.status import FleetStatus
from dynamo_regime.control.reading import Reading


class Membership(Protocol):
    """A frontend's place in a fleet; no method waits for the network.

    Everybody reports, and applies ``status().policy``. Who decides proposes, too.
    """

    def report(self, reading: Reading) -> None:
        """Let the fleet have this frontend's latest reading."""
        ...

    def reading(self) -> Reading | None:
        """The latest reading of the whole fleet; None while the fleet is out of reach."""
        ...

    def status(self) -> FleetStatus:
        """How this member stands, with the policy in force."""
        ...

    def propose(self, decision: FleetDecision) -> bool:
        """Decide for the fleet; False if this member is not the decider."""
        ...
