"""A detector for people who have a service-level objective and no measured thresholds."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from dynamo_regime.control.checked import Checked, NonNegative, Positive
from dynamo_regime.control.detectors.ewma import Ewma
from dynamo_regime.control.detectors.paper import p99_seconds
from dynamo_regime.control.detectors.thresholds import Hysteresis, Thresholds
from dynamo_regime.control.reading import Latency, Reading
from dynamo_regime.control.verdict import Verdict

EWMA_WEIGHT = 0.3


class SloSettings(Checked):
    """Settings of the ``slo`` detector; at least one target.

    Attributes:
        ttft_p99_seconds: What the 99th percentile of the time to first token may be.
        itl_p99_seconds: What the 99th percentile of the inter-token latency may be.
        transition_share: The transition regime begins at this share of a target, the saturated one
            at the target itself.
        hysteresis: How far below a threshold a regime is left again, in units of the load index.
    """

    kind: Literal["slo"]
    ttft_p99_seconds: Positive | None = None
    itl_p99_seconds: Positive | None = None
    transition_share: Annotated[Positive, Field(lt=1)] = 0.5
    hysteresis: Annotated[NonNegative, Field(lt=1)] = 0.1

    @model_validator(mode="after")
    def _has_a_target(self) -> Self:
        if self.ttft_p99_seconds is None and self.itl_p99_seconds is None:
            raise ValueError("give ttft_p99_seconds, itl_p99_seconds, or both")
        return self

    def thresholds(self, target: float) -> Thresholds:
        """θ1 and θ2 of a target."""
        return Thresholds(transition=self.transition_share * target, saturated=target)


class SloDetector:
    """The worse of the targets decides: the level is the higher of their load indices.

    Every second the P99 of the window is smoothed with α = 0.3, as the paper does every 5 s.
    """

    reading_interval_seconds = 1.0
    debounce_readings = 3

    def __init__(self, settings: SloSettings) -> None:
        """Begin without any history."""
        self._targets = [
            _Target(name, settings.thresholds(seconds))
            for name, seconds in (
                ("TTFT", settings.ttft_p99_seconds),
                ("ITL", settings.itl_p99_seconds),
            )
            if seconds is not None
        ]
        self._hysteresis = Hysteresis(settings.hysteresis)
        self._statistic = 0.0

    def update(self, reading: Reading) -> Verdict:
        """Take the next second."""
        latencies = {"TTFT": reading.ttft, "ITL": reading.itl}
        judged = [target.judge(latencies[target.name]) for target in self._targets]
        known = [index_and_reason for index_and_reason in judged if index_and_reason is not None]
        if not known:
            names = " and ".join(target.name for target in self._targets)
            return Verdict(None, None, self._statistic, f"no P99 of {names} in this window")
        index, reason = max(known)
        self._statistic = index
        return Verdict(index, self._hysteresis.regime(index), index, reason)


class _Target:
    def __init__(self, name: str, thresholds: Thresholds) -> None:
        self.name = name
        self._thresholds = thresholds
        self._smoothed = Ewma(EWMA_WEIGHT)

    def judge(self, latency: Latency | None) -> tuple[float, str] | None:
        seconds = p99_seconds(latency)
        if seconds is None:
            return None
        smoothed = self._smoothed.update(seconds)
        target = self._thresholds.saturated
        reason = f"smoothed {self.name} P99 {smoothed:.3g} s (target {target:g} s)"
        return self._thresholds.load_index(smoothed), reason
