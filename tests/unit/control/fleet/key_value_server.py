"""A key-value bucket in memory: compare-and-set on revisions, as NATS JetStream has it."""

from dataclasses import dataclass, field

from dynamo_regime.control.fleet.exchange import Slot, Snapshot, WriteLease, WritePolicy
from dynamo_regime.control.fleet.records import FleetPolicy, Lease, Report


@dataclass
class Server:
    revision: int = 0
    lease: Slot[Lease] = field(default_factory=lambda: Slot(0, None))
    policy: Slot[FleetPolicy] = field(default_factory=lambda: Slot(0, None))
    reports: dict[str, Slot[Report]] = field(default_factory=dict)
    history: list[FleetPolicy] = field(default_factory=list)  # since the data was last lost

    def snapshot(self) -> Snapshot:
        return Snapshot(self.policy, self.lease, dict(self.reports))

    def write(self, write: WriteLease | WritePolicy) -> int | None:
        key = self.lease if isinstance(write, WriteLease) else self.policy
        if write.replaces != key.revision:
            return None
        self.revision += 1
        if isinstance(write, WriteLease):
            self.lease = Slot(self.revision, write.lease)
        else:
            self.policy = Slot(self.revision, write.policy)
            self.history.append(write.policy)
        return self.revision

    def report(self, report: Report) -> None:
        self.revision += 1
        self.reports[report.member] = Slot(self.revision, report)

    def lose_everything(self) -> None:
        self.go_back_to(Server())

    def go_back_to(self, backup: "Server") -> None:
        """Be as it was then; reports are in memory only, and are lost."""
        self.revision, self.lease, self.policy = backup.revision, backup.lease, backup.policy
        self.reports = {}
        self.history = []
