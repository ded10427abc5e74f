"""What a member reads from the fleet's bucket, and what it has written there."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from dynamo_regime.control.fleet.records import FleetPolicy, Lease, Report

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Slot(Generic[T]):
    """A key of the bucket: its last revision (0: never written) and value (None: there is none)."""

    revision: int
    value: T | None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a member read from the bucket.

    Attributes:
        policy: Read before the lease: then whoever finds itself holding the lease knows that no
            later holder has written the policy it read.
        lease: Read after the policy.
        reports: By member; read last.
    """

    policy: Slot[FleetPolicy]
    lease: Slot[Lease]
    reports: Mapping[str, Slot[Report]]


@dataclass(frozen=True, slots=True)
class WriteLease:
    """Write ``lease``, if ``replaces`` is still the last revision of the key."""

    replaces: int
    lease: Lease


@dataclass(frozen=True, slots=True)
class WritePolicy:
    """Write ``policy``, if ``replaces`` is still the last revision of the key."""

    replaces: int
    policy: FleetPolicy
