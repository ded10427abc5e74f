"""What goes over the wire about the controller."""

from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field

from dynamo_regime.control.events import ReadingSummary, summarise
from dynamo_regime.control.finished_log import FinishedPage
from dynamo_regime.control.fleet.status import FleetStatus
from dynamo_regime.control.live import LiveState
from dynamo_regime.target import PoolPolicy

DEFAULT_EVENTS = 100
MAX_EVENTS = 1_000
MAX_OVERRIDE_SECONDS = 7 * 24 * 3600.0
MAX_WORKERS = 256


class Override(BaseModel):
    """A pool that is left to a person; null is every pool."""

    pool: str | None
    remaining_seconds: float


class OverrideRequest(BaseModel):
    """Leave a pool, or all of them, to a person for a while."""

    model_config = ConfigDict(extra="forbid", strict=True)

    seconds: float = Field(gt=0, le=MAX_OVERRIDE_SECONDS, allow_inf_nan=False)
    pool: str | None = Field(None, description="A pool's name; null is every pool.")


class OverrideQuery(BaseModel):
    """Which override to end."""

    model_config = ConfigDict(extra="forbid")

    pool: str | None = Field(None, description="A pool's name; without it the one of all pools.")


class EventsQuery(BaseModel):
    """Which events to show."""

    model_config = ConfigDict(extra="forbid")

    limit: int = Field(DEFAULT_EVENTS, ge=1, le=MAX_EVENTS, description="The most to answer with.")
    after: int = Field(0, ge=0, description="Only those with a higher number.")


class Events(BaseModel):
    """The latest events, oldest first; each as in ``dynamo-regime events --json``."""

    events: list[dict[str, Any]]


class RequestsQuery(BaseModel):
    """Which finished requests to show."""

    model_config = ConfigDict(extra="forbid")

    limit: int = Field(DEFAULT_EVENTS, ge=1, le=MAX_EVENTS, description="The most to answer with.")
    after: int | None = Field(
        None, ge=0, description="The first with a higher number; without it the latest."
    )


class NumberedRequest(BaseModel):
    """A finished request."""

    number: int = Field(description="From 1; those that are left out were lost.")
    event: dict[str, Any] = Field(description="A request_end of dynamo.request.trace.v1.")


class FinishedRequestsPage(BaseModel):
    """Some finished requests, oldest first."""

    since_unix: float = Field(description="When the numbers began, in s since the UNIX epoch.")
    last: int = Field(description="Number of the latest request; 0 before the first.")
    requests: list[NumberedRequest]

    @classmethod
    def of(cls, page: FinishedPage) -> Self:
        """A page in words of the wire."""
        return cls(
            since_unix=page.since_unix,
            last=page.last,
            requests=[NumberedRequest(number=n, event=event) for n, event in page.requests],
        )


class WorkerView(BaseModel):
    """What a worker has in hand; null is not known."""

    pool: str | None
    worker_id: int
    dp_rank: int
    prefill_tokens: float | None
    decode_blocks: float | None
    active_requests: float | None


class FleetView(BaseModel):
    """How this frontend stands in its fleet."""

    member: str = Field(description="This frontend's name there.")
    connected: bool
    reason: str = Field(description='Why it is not connected; "" if it is.')
    decider: str | None = Field(description="Who decides, as last seen; null if nobody does.")
    is_decider: bool
    version: int | None = Field(description="Of the policy followed; null before the first.")
    members: int = Field(description="How many were heard at the last look, this one included.")

    @classmethod
    def of(cls, status: FleetStatus) -> Self:
        """A status in words of the wire."""
        return cls(
            member=status.member,
            connected=status.connected,
            reason=status.reason,
            decider=status.decider,
            is_decider=status.is_decider,
            version=None if status.policy is None else status.policy.version,
            members=status.members,
        )


class ControllerView(BaseModel):
    """How the controller stands.

    ``regime`` and all that follows from a reading are null before the first decision.
    """

    mode: str
    healthy: bool = Field(description="Its thread lives and has completed a round in the last 3 s.")
    round_age_seconds: float
    regime: str | None
    fallen_back: bool = Field(description="The safe policy is in force for want of readings.")
    reason: str | None
    load_index: float | None
    statistic: float | None
    signal_problem: str
    reading_age_seconds: float | None
    reading: ReadingSummary | None
    workers: list[WorkerView] = Field(description=f"At most {MAX_WORKERS} of them.")
    overrides: list[Override]
    policies: list[PoolPolicy]
    fleet: FleetView | None = Field(description="null if it is in none.")

    @classmethod
    def of(cls, state: LiveState, policies: list[PoolPolicy]) -> Self:
        """Its state in words of the wire."""
        step, reading = state.step, state.reading
        verdict = None if step is None else step.verdict
        workers = () if reading is None or reading.workers is None else reading.workers
        return cls(
            mode=state.mode,
            healthy=state.healthy,
            round_age_seconds=state.round_age_seconds,
            regime=None if step is None else step.regime,
            fallen_back=step is not None and step.fallen_back,
            reason=None if step is None else step.reason,
            load_index=None if verdict is None else verdict.level,
            statistic=None if verdict is None else verdict.statistic,
            signal_problem=state.signal_problem,
            reading_age_seconds=state.reading_age_seconds,
            reading=None if reading is None else summarise(reading),
            workers=[
                WorkerView(
                    pool=worker.pool,
                    worker_id=worker.worker_id,
                    dp_rank=worker.dp_rank,
                    prefill_tokens=worker.prefill_tokens,
                    decode_blocks=worker.decode_blocks,
                    active_requests=worker.active_requests,
                )
                for worker in workers[:MAX_WORKERS]
            ],
            overrides=[
                Override(pool=pool, remaining_seconds=max(seconds, 0.0))
                for pool, seconds in state.overrides.items()
            ],
            policies=policies,
            fleet=None if state.fleet is None else FleetView.of(state.fleet),
        )
