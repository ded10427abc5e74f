"""How a frontend stands in its fleet."""

from dataclasses import dataclass

from dynamo_regime.control.fleet.records import FleetPolicy


@dataclass(frozen=True, slots=True)
class FleetStatus:
    """How a member stands.

    Attributes:
        member: Its name.
        connected: Whether the bucket was read within the last ``lease_seconds``, and nothing has
            failed since.
        reason: Why not; "" when connected.
        decider: Who held the lease when it was last seen; None if nobody did.
        is_decider: Whether this member decides now.
        policy: The policy in force here; None before the first.
        members: How many members' reports were there at the last look, this one's included.
        contact_age_seconds: Since the bucket was last read; None before the first time.
        leases_taken: How often this member has come to the lease.
    """

    member: str
    connected: bool
    reason: str
    decider: str | None
    is_decider: bool
    policy: FleetPolicy | None
    members: int
    contact_age_seconds: float | None
    leases_taken: int
