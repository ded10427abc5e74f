"""What happened, as values that are kept for a while and written as JSON lines."""

import dataclasses
import json
import math
import threading
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from dynamo_regime.control.quality import TransitionQuality
from dynamo_regime.control.reading import Latency, Reading
from dynamo_regime.control.regime import Transition


class EventKind(StrEnum):
    """What happened."""

    TRANSITION = "transition"
    SWAP = "swap"
    """A policy is to be swapped now."""
    SHADOW_SWAP = "shadow_swap"
    """A policy would have been swapped in mode ``act``."""
    OVERRIDE = "override"
    """A person took a pool over, for a while."""
    OVERRIDE_END = "override_end"
    PRICE = "price"
    """The price of anarchy of a pool has risen, or has fallen again."""
    QUALITY = "quality"
    """A transition can be judged now."""


@dataclass(frozen=True, slots=True)
class PoolSwap:
    """A change of one pool's policy.

    Attributes:
        pool: The pool's role.
        instance: Name of its policy instance.
        temperature: The new temperature τ.
        prefill_weight: The new prefill weight ω.
        temperature_before: The temperature that it replaces.
        prefill_weight_before: The prefill weight that it replaces.
        prediction: What it is expected to do, or that there is no prediction.
    """

    pool: str
    instance: str
    temperature: float
    prefill_weight: float
    temperature_before: float
    prefill_weight_before: float
    prediction: str


@dataclass(frozen=True, slots=True)
class ReadingSummary:
    """A reading without its workers, of which there may be thousands.

    Latencies and backlogs are as in :class:`dynamo_regime.control.reading.Reading`; ``mean`` and
    ``max`` are over workers.
    """

    time: float
    window: float
    ttft_count: int | None
    ttft_p50_seconds: float | None
    ttft_p99_seconds: float | None
    itl_p99_seconds: float | None
    workers: int | None
    prefill_tokens_mean: float | None
    prefill_tokens_max: float | None
    decode_blocks_mean: float | None
    decode_blocks_max: float | None
    queue_length: float | None
    decision_rate: float | None


def summarise(reading: Reading) -> ReadingSummary:
    """The summary of a reading."""
    workers = reading.workers or ()
    tokens = [each.prefill_tokens for each in workers if each.prefill_tokens is not None]
    blocks = [each.decode_blocks for each in workers if each.decode_blocks is not None]
    return ReadingSummary(
        time=reading.time,
        window=reading.window,
        ttft_count=None if reading.ttft is None else reading.ttft.count,
        ttft_p50_seconds=_seconds(reading.ttft, "p50"),
        ttft_p99_seconds=_seconds(reading.ttft, "p99"),
        itl_p99_seconds=_seconds(reading.itl, "p99"),
        workers=None if reading.workers is None else len(reading.workers),
        prefill_tokens_mean=sum(tokens) / len(tokens) if tokens else None,
        prefill_tokens_max=max(tokens, default=None),
        decode_blocks_mean=sum(blocks) / len(blocks) if blocks else None,
        decode_blocks_max=max(blocks, default=None),
        queue_length=reading.queue_length,
        decision_rate=reading.decision_rate,
    )


def _seconds(latency: Latency | None, quantile: str) -> float | None:
    found = None if latency is None else getattr(latency, quantile)
    return None if found is None else found.value_seconds


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened.

    Attributes:
        kind: What.
        time: When, on the controller's clock.
        reason: Why, in a phrase that people can read.
        transition: For a transition.
        readings: The readings that led to a transition, oldest first.
        swap: For a swap and a shadow swap.
        pool: For a price, and for an override and its end, where None is every pool.
        quality: For a judgement.
    """

    kind: EventKind
    time: float
    reason: str
    transition: Transition | None = None
    readings: tuple[ReadingSummary, ...] = ()
    swap: PoolSwap | None = None
    pool: str | None = None
    quality: TransitionQuality | None = None


@dataclass(frozen=True, slots=True)
class NumberedEvent:
    """An event with its number: 1 for the first, one more with each."""

    number: int
    event: Event


class EventRing:
    """The latest events; safe to use from several threads."""

    def __init__(self, capacity: int = 1_000) -> None:
        """Begin empty; of more than ``capacity`` events the oldest are forgotten."""
        self._events: deque[NumberedEvent] = deque(maxlen=capacity)
        self._written = 0
        self._lock = threading.Lock()

    def extend(self, events: Iterable[Event]) -> None:
        """Add events, oldest first."""
        with self._lock:
            for event in events:
                self._written += 1
                self._events.append(NumberedEvent(self._written, event))

    def after(self, number: int = 0) -> list[NumberedEvent]:
        """The events that are still there and came after the one with this number, oldest first.

        A gap between ``number`` and the first of them is what was forgotten.
        """
        with self._lock:
            return [each for each in self._events if each.number > number]


def json_line(numbered: NumberedEvent, unix_offset_seconds: float | None = None) -> str:
    """An event as one line of JSON, without a newline.

    Args:
        numbered: The event. What it does not have is left out; NaN and infinity become null.
        unix_offset_seconds: What to add to the controller's clock for the time since the UNIX
            epoch, which is then given as ``unix_time``.
    """
    event = numbered.event
    line: dict[str, Any] = {"number": numbered.number}
    if unix_offset_seconds is not None:
        line["unix_time"] = event.time + unix_offset_seconds
    line |= {name: value for name, value in dataclasses.asdict(event).items() if value is not None}
    if not event.readings:
        del line["readings"]
    return json.dumps(_plain(line), ensure_ascii=False, allow_nan=False)


def _plain(value: object) -> object:
    match value:
        case dict():
            return {key: _plain(each) for key, each in value.items()}
        case list() | tuple():
            return [_plain(each) for each in value]
        case float():
            return value if math.isfinite(value) else None
        case _:
            return value
