"""Settings of the ``load`` detector."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from dynamo_regime.control.checked import Checked, NonNegative, Positive
from dynamo_regime.control.detectors.thresholds import ThresholdLearner, Thresholds


class Signal(StrEnum):
    """What the detector looks at; the values are the keys of the settings."""

    PREFILL_BACKLOG = "prefill_backlog_seconds"
    DECODE_OCCUPANCY = "decode_occupancy"

    def phrase(self, value: float) -> str:
        """A value of it in words."""
        if self is Signal.PREFILL_BACKLOG:
            return f"prefill backlog {value:.3g} s per worker"
        return f"{value:.1%} of KV blocks in use per worker"

    def learner(self) -> ThresholdLearner:
        """How its thresholds are learned.

        Busy periods make a backlog noisier than an occupancy, hence the wider margin. A backlog of
        50 ms or an occupancy of a tenth harms nobody, however quiet it was before; and an occupancy
        has an end, short of which it must be called saturated.
        """
        if self is Signal.PREFILL_BACKLOG:
            most = Thresholds(transition=60.0, saturated=300.0)
            return ThresholdLearner(margin=3.0, ratio=5.0, lowest=0.05, highest=most)
        most = Thresholds(transition=0.8, saturated=0.95)
        return ThresholdLearner(margin=1.5, ratio=2.0, lowest=0.1, highest=most)


class LoadSettings(Checked):
    """Settings of the ``load`` detector.

    Attributes:
        prefill_backlog_seconds: Thresholds on the mean prefill backlog of a pool's workers.
            The default is the paper's on the TTFT P99 of its 70B model, of which a backlog is the
            greater part near saturation.
        decode_occupancy: Thresholds on the mean share of KV blocks in use, 0 to 1.
        learn_seconds: Learn both from the first so many seconds instead of taking what is given.
        prefill_tokens_per_second: Prefill speed of one worker, for as long as none was observed.
        kv_blocks: KV blocks of one worker, where a reading does not say.
        hysteresis: How far below a threshold a regime is left again, as a share of the threshold,
            or of the distance between the two if that is shorter.
    """

    kind: Literal["load"] = "load"
    prefill_backlog_seconds: Thresholds = Thresholds(transition=0.3, saturated=2.0)
    decode_occupancy: Thresholds = Thresholds(transition=0.6, saturated=0.9)
    learn_seconds: Positive | None = None
    prefill_tokens_per_second: Positive | None = None
    kv_blocks: Positive | None = None
    hysteresis: Annotated[NonNegative, Field(lt=1)] = 0.2

    @model_validator(mode="after")
    def _given_or_learned(self) -> Self:
        given = self.model_fields_set & set(Signal)
        if self.learn_seconds is not None and given:
            raise ValueError(
                f"learn_seconds and {min(given)} exclude one another: remove one of them"
            )
        return self

    @property
    def thresholds(self) -> Mapping[Signal, Thresholds]:
        """Those given."""
        return {
            Signal.PREFILL_BACKLOG: self.prefill_backlog_seconds,
            Signal.DECODE_OCCUPANCY: self.decode_occupancy,
        }
