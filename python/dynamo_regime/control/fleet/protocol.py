"""How the members of a fleet agree, as a state machine without clock, network or thread.

A bucket holds two records, the lease and the policy, that are written by compare-and-set on their
revision: a write names the revision it replaces and fails if that is no longer the last one.

Lease. It changes hands when nobody has renewed it. Nobody's wall clock is trusted: a revision
stands for one write, so a member that sees the same revision for ``lease_seconds`` of its own clock
knows that it has not been renewed that long, and may take it. Its holder counts from the moment it
*sent* the last renewal that succeeded, and stops deciding after ``HOLD`` of that time: before
anybody can take over, as long as clocks run equally fast within a fifth. A lease that is not there
is founded first, which gives nobody anything but a write to wait for: a holder that knows of an
earlier one, whose data the server has lost, has given up by the time the new one can be taken.

Policy. A decider that has come to the lease first writes the policy that it finds once more under
its own fence, the revision of its lease. From then on a write that an earlier decider still has
under way fails. Each decision takes the next version, above all versions that any member reports to
have adopted; a member adopts a higher version than it has, and nothing else. So versions rise in
every member, through lost acknowledgements, partitions, pauses, restarts of the server and even the
loss of its data.

As long as the server keeps its data, one version is one policy. If it lost them while the member
with the highest version could not be heard, that version may be given a second time, to another
policy. As soon as the member is heard again, the decider sees it and goes on above it, so that all
adopt the same.
"""

from dataclasses import dataclass

from dynamo_regime.control.fleet.exchange import Slot, Snapshot, WriteLease, WritePolicy
from dynamo_regime.control.fleet.records import FleetDecision, FleetPolicy, Lease, LeaseState
from dynamo_regime.control.fleet.status import FleetStatus

HOLD = 0.8
"""Fraction of ``lease_seconds`` for which a holder trusts its own lease."""

RENEW = 0.25
"""Fraction of ``lease_seconds`` after which a holder renews."""


@dataclass(slots=True)
class _Held:
    fence: int
    renewed_at: float | None  # When the last renewal that succeeded was sent.
    heard_reports: bool = False


class Member:
    """One member's side of the protocol.

    Its driver loops: hand :meth:`observe` a snapshot (or :meth:`lost` an error), then carry out
    :meth:`next_write` and tell :meth:`written` or :meth:`refused`, until there is none or one was
    refused. Every time is in seconds on the member's own monotonic clock; that of a snapshot is
    taken after it was read, that of a write before it is sent.
    """

    def __init__(self, name: str, lease_seconds: float) -> None:
        """Start out disconnected, without a policy.

        Args:
            name: Not used by any other member, nor by an earlier process.
            lease_seconds: How long the fleet waits for a silent decider; the same in all members.
        """
        self.name = name
        self._lease_seconds = lease_seconds
        self._reason = "not yet connected"
        self._observed_at: float | None = None
        self._members = 0
        self._leases_taken = 0
        self._lease: Slot[Lease] | None = None
        self._lease_since = 0.0
        self._held: _Held | None = None
        self._lease_writes = 0
        self._stored: Slot[FleetPolicy] = Slot(0, None)
        self._adopted: FleetPolicy | None = None
        self._reported: tuple[FleetPolicy, ...] = ()
        self._proposal: FleetDecision | None = None

    @property
    def policy(self) -> FleetPolicy | None:
        """The policy in force here, kept through any loss of contact; None before the first."""
        return self._adopted

    def is_decider(self, time: float) -> bool:
        """Whether this member's decisions go to the fleet now."""
        held = self._held
        return self._reason == "" and held is not None and self._fenced(held) and self._valid(time)

    def status(self, time: float) -> FleetStatus:
        """How this member stands at ``time``."""
        lease = self._lease.value if self._lease is not None else None
        reason = self._reason
        silent = None if self._observed_at is None else time - self._observed_at
        if not reason and silent is not None and silent >= self._lease_seconds:
            reason = f"the bucket has not been read for {silent:.1f} s"
        return FleetStatus(
            member=self.name,
            connected=reason == "",
            reason=reason,
            decider=lease.holder if lease is not None else None,
            is_decider=self.is_decider(time),
            policy=self._adopted,
            members=self._members,
            contact_age_seconds=silent,
            leases_taken=self._leases_taken,
        )

    def propose(self, time: float, decision: FleetDecision) -> bool:
        """Have ``decision`` written for the fleet, in place of what was proposed before it.

        Returns:
            False if this member is not the decider: nothing comes of it.
        """
        if not self.is_decider(time):
            return False
        self._proposal = decision
        return True

    def observe(self, time: float, snapshot: Snapshot) -> None:
        """Take in what is in the bucket."""
        self._reason = ""
        self._observed_at = time
        reports = [slot.value for slot in snapshot.reports.values() if slot.value is not None]
        self._members = len(reports)
        if self._held is not None:
            self._held.heard_reports = True
            self._reported = tuple(each.policy for each in reports if each.policy is not None)
        if snapshot.lease != self._lease:
            self._lease = snapshot.lease
            self._lease_since = time
            lease = snapshot.lease.value
            if lease is None or lease.holder != self.name:
                self._depose()
            elif self._held is None:
                # A write of ours whose acknowledgement was lost. When it was sent is unknown here,
                # so a renewal has to succeed before it counts.
                self._hold(_Held(fence=snapshot.lease.revision, renewed_at=None))
        self._stored = snapshot.policy
        self._adopt(snapshot.policy.value)

    def lost(self, reason: str) -> None:
        """The bucket could not be read or written; everything that was agreed stays."""
        self._reason = reason

    def next_write(self, time: float) -> WriteLease | WritePolicy | None:
        """The write that is due, if any, after a snapshot or a successful write."""
        if self._reason or self._lease is None:
            return None
        if self._held is None:
            return self._take(time, self._lease)
        if self._renewal_due(time, self._held):
            return self._lease_write(self._lease, LeaseState.HELD)
        if not self._held.heard_reports:
            return None
        return self._policy_write(self._held)

    def written(
        self, time: float, write: WriteLease | WritePolicy, sent_at: float, revision: int
    ) -> None:
        """At ``time`` it is known that ``write``, sent at ``sent_at``, is ``revision``."""
        if isinstance(write, WritePolicy):
            self._stored = Slot(revision, write.policy)
            self._adopt(write.policy)
            if self._proposal == write.policy.decision:
                self._proposal = None
            return
        self._lease = Slot(revision, write.lease)
        self._lease_since = time
        if write.lease.holder != self.name:
            self._depose()
        elif self._held is None:
            self._hold(_Held(fence=revision, renewed_at=sent_at))
        else:
            self._held.renewed_at = sent_at

    def refused(self, write: WriteLease | WritePolicy) -> None:
        """Another write came before ``write``; the next snapshot tells which."""
        if isinstance(write, WriteLease):
            self._depose()

    def release(self) -> WriteLease | None:
        """Give the lease up, so that another member need not wait for it; None if not held."""
        if self._held is None or self._lease is None:
            return None
        self._depose()
        return self._lease_write(self._lease, LeaseState.RELEASED)

    def _take(self, time: float, lease: Slot[Lease]) -> WriteLease | None:
        if lease.value is None:
            return self._lease_write(lease, LeaseState.FOUNDED)
        released = lease.value.state is LeaseState.RELEASED
        if released or time - self._lease_since >= self._lease_seconds:
            return self._lease_write(lease, LeaseState.HELD)
        return None

    def _lease_write(self, lease: Slot[Lease], state: LeaseState) -> WriteLease:
        self._lease_writes += 1
        written = Lease(writer=self.name, state=state, number=self._lease_writes)
        return WriteLease(lease.revision, written)

    def _policy_write(self, held: _Held) -> WritePolicy | None:
        stored = self._stored.value
        known = [p for p in (stored, self._adopted, *self._reported) if p is not None]
        newest = max(known, key=lambda policy: policy.version, default=None)
        proposal = self._proposal
        if newest is None:
            decision, version = FleetDecision(pools=(), regime=None, reason="no decision yet"), 0
        elif (
            proposal is not None
            and not proposal.same_effect(newest.decision)
            and self._fenced(held)
        ):
            decision, version = proposal, newest.version + 1
        elif newest is not stored or any(_clash(newest, policy) for policy in known):
            # The server has lost data, so that members have adopted what is not in the bucket, or
            # two policies of one version: above all that is known, so that all adopt.
            decision, version = newest.decision, newest.version + 1
        elif not self._fenced(held):
            decision, version = newest.decision, newest.version
        else:
            return None
        policy = FleetPolicy(
            version=version, fence=held.fence, decider=self.name, decision=decision
        )
        return WritePolicy(self._stored.revision, policy)

    def _fenced(self, held: _Held) -> bool:
        return self._stored.value is not None and self._stored.value.fence == held.fence

    def _valid(self, time: float) -> bool:
        renewed_at = self._held.renewed_at if self._held is not None else None
        return renewed_at is not None and time - renewed_at < HOLD * self._lease_seconds

    def _renewal_due(self, time: float, held: _Held) -> bool:
        return held.renewed_at is None or time - held.renewed_at >= RENEW * self._lease_seconds

    def _hold(self, held: _Held) -> None:
        self._held = held
        self._leases_taken += 1

    def _depose(self) -> None:
        self._held = None
        self._proposal = None
        self._reported = ()

    def _adopt(self, policy: FleetPolicy | None) -> None:
        if policy is not None and policy.version > (self._adopted.version if self._adopted else 0):
            self._adopted = policy


def _clash(one: FleetPolicy, other: FleetPolicy) -> bool:
    return one.version == other.version and one.decision != other.decision
