"""What a load's outcomes add up to: by stage, by worker, as numbers and as JSON."""

import dataclasses
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from testbed.outcome import Outcome


@dataclass(frozen=True, slots=True)
class PolicyChange:
    """A policy that came into force.

    Attributes:
        before_request: Index of the first request sent under it.
        version: Its version.
        temperature: τ.
        prefill_weight: ω.
        swap_seconds: How long the swap took for whoever asked for it; None for the policy of the
            start.
    """

    before_request: int
    version: int
    temperature: float
    prefill_weight: float
    swap_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Percentiles:
    """Percentiles of durations in seconds, linearly interpolated; None if there is none."""

    count: int
    p50: float | None
    p90: float | None
    p99: float | None

    @classmethod
    def of(cls, seconds: Iterable[float]) -> "Percentiles":
        """Those of ``seconds``."""
        sample = np.fromiter(seconds, dtype=np.float64)
        if not sample.size:
            return cls(0, None, None, None)
        p50, p90, p99 = (float(value) for value in np.percentile(sample, (50, 90, 99)))
        return cls(sample.size, p50, p90, p99)


@dataclass(frozen=True, slots=True)
class Stage:
    """All requests sent in one phase under one policy version.

    Attributes:
        phase: Name of the phase.
        policy_version: The version; None where nobody told.
        requests: How many finished or failed.
        failures: How many failed.
        ttft: Time to first token.
        itl: Inter-token latency, over all gaps of all answers.
        cache_overlap: Cached prompt tokens / prompt tokens, over the answers that report them; None
            if none does.
        shares: Role (``prefill``, ``decode``; ``aggregated`` if one worker does both) to worker to
            share of requests.
    """

    phase: str
    policy_version: int | None
    requests: int
    failures: int
    ttft: Percentiles
    itl: Percentiles
    cache_overlap: float | None
    shares: dict[str, dict[int, float]]

    @classmethod
    def of(cls, phase: str, policy_version: int | None, outcomes: Sequence[Outcome]) -> "Stage":
        """The stage that ``outcomes`` make up."""
        counted = [one for one in outcomes if one.cached_tokens is not None]
        prompt_tokens = sum(one.prompt_tokens for one in counted)
        return cls(
            phase=phase,
            policy_version=policy_version,
            requests=len(outcomes),
            failures=sum(one.failure is not None for one in outcomes),
            ttft=Percentiles.of(
                one.ttft_seconds for one in outcomes if one.ttft_seconds is not None
            ),
            itl=Percentiles.of(gap for one in outcomes for gap in one.itl_seconds),
            cache_overlap=sum(one.cached_tokens or 0 for one in counted) / prompt_tokens
            if prompt_tokens
            else None,
            shares=_shares(outcomes),
        )


@dataclass(frozen=True, slots=True)
class Summary:
    """A load's result.

    Attributes:
        requests: Requests that finished or failed.
        failures: Reason to number of requests that failed for it.
        duration_seconds: From the first request to the end.
        stages: In the order of the load.
        policies: All policies that were in force, in order.
    """

    requests: int
    failures: dict[str, int]
    duration_seconds: float
    stages: list[Stage]
    policies: list[PolicyChange]

    def to_json(self) -> str:
        """All of it as JSON, with durations in seconds."""
        return json.dumps(dataclasses.asdict(self), indent=2)


def summarise(
    outcomes: Sequence[Outcome], policies: Sequence[PolicyChange], duration_seconds: float
) -> Summary:
    """Add up what came of a load."""
    stages: dict[tuple[str, int | None], list[Outcome]] = defaultdict(list)
    for one in sorted(outcomes, key=lambda outcome: outcome.index):
        stages[one.phase, one.policy_version].append(one)
    return Summary(
        requests=len(outcomes),
        failures=dict(Counter(one.failure for one in outcomes if one.failure is not None)),
        duration_seconds=duration_seconds,
        stages=[Stage.of(phase, version, members) for (phase, version), members in stages.items()],
        policies=list(policies),
    )


def _shares(outcomes: Sequence[Outcome]) -> dict[str, dict[int, float]]:
    workers: dict[str, Counter[int]] = defaultdict(Counter)
    for one in outcomes:
        if one.prefill_worker is None or one.decode_worker is None:
            continue
        if one.prefill_worker == one.decode_worker:
            workers["aggregated"][one.prefill_worker] += 1
        else:
            workers["prefill"][one.prefill_worker] += 1
            workers["decode"][one.decode_worker] += 1
    return {
        role: {worker: count / counts.total() for worker, count in sorted(counts.items())}
        for role, counts in workers.items()
    }
