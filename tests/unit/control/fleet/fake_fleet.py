"""A place in a fleet whose state belongs to the test."""

from dataclasses import dataclass, field

from dynamo_regime.control.fleet.records import FleetDecision, FleetPolicy, PoolSetting
from dynamo_regime.control.fleet.status import FleetStatus
from dynamo_regime.control.reading import Reading


@dataclass
class FakeFleet:
    merged: Reading | None = None
    policy: FleetPolicy | None = None
    is_decider: bool = False
    reported: list[Reading] = field(default_factory=list)
    proposed: list[FleetDecision] = field(default_factory=list)

    def report(self, reading: Reading) -> None:
        self.reported.append(reading)

    def reading(self) -> Reading | None:
        return self.merged

    def status(self) -> FleetStatus:
        return FleetStatus(
            member="frontend-a",
            connected=self.merged is not None,
            reason="" if self.merged is not None else "NATS does not answer (gone): trying again",
            decider="frontend-a" if self.is_decider else "frontend-b",
            is_decider=self.is_decider,
            policy=self.policy,
            members=3,
            contact_age_seconds=0.5,
            leases_taken=int(self.is_decider),
        )

    def propose(self, decision: FleetDecision) -> bool:
        self.proposed.append(decision)
        return self.is_decider


def policy(version: int, prefill_weight: float, pool: str = "prefill") -> FleetPolicy:
    """A policy of one pool, decided by frontend-b."""
    setting = PoolSetting(pool=pool, temperature=0.0, prefill_weight=prefill_weight)
    decision = FleetDecision(pools=(setting,), regime="saturated", reason="much to do")
    return FleetPolicy(version=version, fence=1, decider="frontend-b", decision=decision)
