"""The detector of the paper: a smoothed TTFT P99 against two thresholds.

Source: arXiv 2606.17081. Every 5 s the TTFT P99 of the window is read and smoothed with α = 0.3;
below θ1 the regime is normal, above θ2 saturated, in between transition. A change takes k = 3
readings in a row; that debounce lies in the regime machine.
"""

from typing import Literal, Self

from pydantic import model_validator

from dynamo_regime.control.checked import Checked
from dynamo_regime.control.detectors.ewma import Ewma
from dynamo_regime.control.detectors.thresholds import Thresholds, regime_at, usable
from dynamo_regime.control.reading import Latency, Reading
from dynamo_regime.control.verdict import Verdict

EWMA_WEIGHT = 0.3
READING_INTERVAL_SECONDS = 5.0
DEBOUNCE_READINGS = 3

PRESETS = {
    "70B": Thresholds(transition=0.3, saturated=2.0),
    "340B": Thresholds(transition=1.0, saturated=10.0),
}
"""θ1 and θ2 in seconds for the paper's two models."""


class PaperSettings(Checked):
    """Settings of the ``paper`` detector: a preset, or thresholds of one's own.

    Attributes:
        preset: One of the paper's two models.
        ttft_p99_seconds: Thresholds on the smoothed TTFT P99.
    """

    kind: Literal["paper"]
    preset: Literal["70B", "340B"] | None = None
    ttft_p99_seconds: Thresholds | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.preset is None) == (self.ttft_p99_seconds is None):
            raise ValueError("give either preset (70B or 340B) or ttft_p99_seconds, and not both")
        return self

    @property
    def thresholds(self) -> Thresholds:
        """Those in force, in seconds."""
        if self.ttft_p99_seconds is not None:
            return self.ttft_p99_seconds
        return PRESETS[self.preset or "70B"]


class PaperDetector:
    """See the module's docstring. The level is the load index of the smoothed TTFT P99."""

    reading_interval_seconds = READING_INTERVAL_SECONDS
    debounce_readings = DEBOUNCE_READINGS

    def __init__(self, settings: PaperSettings) -> None:
        """Begin without any history: the first P99 is taken as it is."""
        self._thresholds = settings.thresholds
        self._smoothed = Ewma(EWMA_WEIGHT)

    def update(self, reading: Reading) -> Verdict:
        """Take the next 5 s."""
        seconds = p99_seconds(reading.ttft)
        if seconds is None:
            last = self._smoothed.value
            return Verdict(None, None, 0.0 if last is None else last, "no TTFT P99 in this window")
        smoothed = self._smoothed.update(seconds)
        index = self._thresholds.load_index(smoothed)
        theta1, theta2 = self._thresholds.transition, self._thresholds.saturated
        reason = f"smoothed TTFT P99 {smoothed:.3g} s (θ1 {theta1:g} s, θ2 {theta2:g} s)"
        return Verdict(index, regime_at(index), smoothed, reason)


def p99_seconds(latency: Latency | None) -> float | None:
    """The P99 if it is known and can be used; in a histogram's last bucket its lower bound."""
    if latency is None or latency.p99 is None:
        return None
    known = usable([latency.p99.value_seconds])
    return known[0] if known else None
