"""What the members of a fleet write for one another, and its JSON form.

Every record carries the number of its schema. A field may be added without a new number; a change
that older members would misread takes one, and they then refuse it.
"""

from enum import StrEnum
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from dynamo_regime.control.reading import Reading
from dynamo_regime.errors import RegimeError

SCHEMA = 1
"""The schema that this version of dynamo-regime writes, and the newest that it reads."""

MAX_RECORD_BYTES = 256 * 1024
"""Bound on a record in the bucket: the readings of some thousands of workers."""

_FiniteNonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class FleetError(RegimeError):
    """The fleet's bucket, or the way to it, cannot be used; the message says how to mend it."""


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    schema_: int = Field(default=SCHEMA, alias="schema")


class LeaseState(StrEnum):
    """What the last write of the lease did."""

    FOUNDED = "founded"
    """There was none: it belongs to nobody, and may be taken after the usual wait."""
    HELD = "held"
    """Its writer decides."""
    RELEASED = "released"
    """Its writer gave it up: it may be taken at once."""


class Lease(_Record):
    """Who decides for the fleet.

    Attributes:
        writer: The member that wrote this.
        state: What it did.
        number: Counts the writer's writes, so that no two records are ever equal.
    """

    kind: Literal["lease"] = "lease"
    writer: str
    state: LeaseState
    number: int

    @property
    def holder(self) -> str | None:
        """Who decides; None if nobody does."""
        return self.writer if self.state is LeaseState.HELD else None


class PoolSetting(BaseModel):
    """The policy of one pool: ``temperature`` τ and ``prefill_weight`` ω."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    pool: str
    temperature: _FiniteNonNegative
    prefill_weight: _FiniteNonNegative


class FleetDecision(BaseModel):
    """What a decider wants the fleet to do, and why."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    pools: tuple[PoolSetting, ...] = Field(max_length=64)
    regime: str | None = Field(max_length=64)
    reason: str

    @field_validator("reason")
    @classmethod
    def _bounded(cls, reason: str) -> str:
        return reason[:500]

    def same_effect(self, other: "FleetDecision") -> bool:
        """Whether both set the same policies in the same regime, for whatever reason."""
        return self.pools == other.pools and self.regime == other.regime


class FleetPolicy(_Record):
    """A decision in force.

    Attributes:
        version: Rises with every decision; 0 is the state before the first.
        fence: Revision of the lease under which it was written: of two deciders the later one has
            the higher.
        decider: The member that wrote it.
        decision: Its content.
    """

    kind: Literal["policy"] = "policy"
    version: int = Field(ge=0)
    fence: int = Field(ge=0)
    decider: str
    decision: FleetDecision


class Report(_Record):
    """What one member sees.

    Attributes:
        member: Who.
        policy: The policy that it has adopted last.
        reading: Its latest reading; its time is on a clock of its own.
    """

    kind: Literal["report"] = "report"
    member: str
    policy: FleetPolicy | None
    reading: Reading | None


R = TypeVar("R", bound=_Record)


def encode(record: _Record) -> bytes:
    """The JSON of a record."""
    return record.model_dump_json(by_alias=True).encode()


def decode(kind: type[R], text: bytes, place: str) -> R:
    """Read the JSON of a record.

    Args:
        kind: The record that is expected.
        text: Its JSON.
        place: Bucket and key, for the message.

    Raises:
        FleetError: It has a newer schema, or is something else altogether.
    """
    try:
        schema = _SchemaOnly.model_validate_json(text).schema_
    except ValidationError:
        schema = None
    if schema is not None and schema > SCHEMA:
        raise FleetError(
            f"{place} has schema {schema} and this dynamo-regime reads up to {SCHEMA}: upgrade this"
            " frontend, or name another bucket"
        )
    try:
        return kind.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(map(str, first["loc"])) or "the record"
        raise FleetError(
            f"{place} is no {kind.__name__.lower()} record of dynamo-regime"
            f" ({field}: {first['msg']}): delete it, or name another bucket"
        ) from None


class _SchemaOnly(BaseModel):
    model_config = ConfigDict(extra="ignore")

    schema_: int = Field(alias="schema")
