"""Detectors and readings, driven through the regime machine."""

from collections.abc import Iterable

from dynamo_regime.control.detectors import Detector
from dynamo_regime.control.reading import Latency, Quantile, Reading, WorkerLoad
from dynamo_regime.control.regime import RegimeMachine, Transition
from dynamo_regime.control.verdict import Verdict


def verdicts(detector: Detector, readings: Iterable[Reading]) -> list[Verdict]:
    return [detector.update(reading) for reading in readings]


def transitions(detector: Detector, readings: Iterable[Reading]) -> list[Transition]:
    machine = RegimeMachine(debounce_readings=detector.debounce_readings)
    steps = (machine.step(reading.time, detector.update(reading)) for reading in readings)
    return [step for step in steps if step is not None]


def latency(p99_seconds: float | None, *, in_last_bucket: bool = False) -> Latency:
    if p99_seconds is None:
        return Latency(count=3)
    return Latency(
        count=100,
        p50=Quantile(p99_seconds / 3, in_last_bucket),
        p99=Quantile(p99_seconds, in_last_bucket),
    )


def ttft_readings(p99_seconds: Iterable[float | None], interval: float) -> list[Reading]:
    """One reading for each P99, the first after one interval."""
    return [
        Reading(time=(index + 1) * interval, window=interval, ttft=latency(seconds))
        for index, seconds in enumerate(p99_seconds)
    ]


def load_reading(
    time: float,
    backlog_seconds: float | None = None,
    occupancy: float | None = None,
    *,
    pool: str = "aggregated",
) -> Reading:
    """One worker that prefills 1,000 tokens per second and has 1,000 KV blocks."""
    return Reading(
        time=time,
        window=0.25,
        workers=(
            WorkerLoad(
                worker_id=1,
                dp_rank=0,
                prefill_tokens=None if backlog_seconds is None else 1_000 * backlog_seconds,
                decode_blocks=None if occupancy is None else 1_000 * occupancy,
                pool=pool,
                kv_blocks=1_000.0,
            ),
        ),
        prefill_tokens_per_second=1_000.0,
    )
