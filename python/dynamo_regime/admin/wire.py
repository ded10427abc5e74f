"""What goes over the wire, once for the listener, its OpenAPI document and the client."""

import math
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from dynamo_regime.target import Decisions, PoolPolicy

DEFAULT_LIMIT = 100
MAX_LIMIT = 10_000
MAX_BODY_BYTES = 16 * 1024

# Columns of `Decisions` that are not float64.
_COLUMN_TYPES: dict[str, DTypeLike] = {
    "time_ns": np.uint64,
    "version": np.uint64,
    "worker_id": np.uint64,
    "dp_rank": np.uint32,
    "candidates": np.uint32,
    "pool": np.str_,
}


def _unicode(name: str) -> str:
    name.encode()  # JSON can escape a lone surrogate, which is no text; UnicodeError refuses it
    return name


_Name = Annotated[str, AfterValidator(_unicode)]


class PolicyUpdate(BaseModel):
    """A change of the policy of one pool, of one instance, or of all; what is not given stays."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        json_schema_extra={
            "anyOf": [
                {"required": [name], "properties": {name: {"type": "number"}}}
                for name in ("temperature", "prefill_weight")
            ],
            "examples": [{"temperature": 0.7, "pool": "prefill"}],
        },
    )

    temperature: float | None = Field(
        None,
        ge=0,
        allow_inf_nan=False,
        description="Softmax temperature τ over range-normalised costs; 0 takes the cheapest.",
    )
    prefill_weight: float | None = Field(
        None,
        ge=0,
        allow_inf_nan=False,
        description="Weight ω of prefill blocks against active blocks in a worker's cost.",
    )
    pool: _Name | None = Field(None, description="aggregated, prefill, decode or encode.")
    instance: _Name | None = Field(
        None, description="Name of a policy instance, as in the router-policy file."
    )


class Policies(BaseModel):
    """The policies of some pools."""

    policies: list[PoolPolicy]


class DecisionsQuery(BaseModel):
    """Which decisions to show."""

    model_config = ConfigDict(extra="forbid")

    limit: int = Field(
        DEFAULT_LIMIT, ge=1, le=MAX_LIMIT, description="The most rows to answer with."
    )


class DecisionRow(BaseModel):
    """One routing decision, with the fields of ``dynamo_regime.Decisions``; null is not known."""

    time_ns: int
    pool: str
    version: int
    temperature: float | None
    prefill_weight: float | None
    worker_id: int
    dp_rank: int
    candidates: int
    cost: float | None
    min_cost: float | None
    max_cost: float | None
    prefill_blocks: float | None
    active_blocks: float | None
    request_blocks: float | None
    active_requests: float | None
    overlap_blocks: float | None
    best_overlap_blocks: float | None
    elapsed_seconds: float | None


class RecentDecisions(BaseModel):
    """The latest decisions, oldest first."""

    dropped: int = Field(description="Decisions that were overwritten before anybody read them.")
    decisions: list[DecisionRow]

    @classmethod
    def from_columns(cls, columns: Decisions) -> Self:
        """Turn columns into rows; JSON has no NaN, so it becomes null."""
        values = {name: _json_values(column) for name, column in columns.to_dict().items()}
        rows = (dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True))
        return cls(
            dropped=columns.dropped, decisions=[DecisionRow.model_validate(row) for row in rows]
        )

    def to_columns(self) -> Decisions:
        """Turn rows back into columns; null becomes NaN."""
        columns = {
            name: np.array(
                [getattr(row, name) for row in self.decisions],
                dtype=_COLUMN_TYPES.get(name, np.float64),
            )
            for name in DecisionRow.model_fields
        }
        return Decisions(**columns, dropped=self.dropped)


class Refusal(BaseModel):
    """Why a request was refused; nothing was changed."""

    error: str = Field(description="One sentence: what is wrong, where, and what to do.")


def _json_values(column: NDArray[Any]) -> list[Any]:
    values: list[Any] = column.tolist()
    if column.dtype.kind == "f":
        return [value if math.isfinite(value) else None for value in values]
    return values
