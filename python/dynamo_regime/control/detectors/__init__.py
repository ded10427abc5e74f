"""Detectors: from a reading to a verdict on the load."""

from typing import Annotated, assert_never

from pydantic import Field

from dynamo_regime.control.detectors.detector import Detector
from dynamo_regime.control.detectors.load import LoadDetector
from dynamo_regime.control.detectors.load_settings import LoadSettings
from dynamo_regime.control.detectors.paper import PaperDetector, PaperSettings
from dynamo_regime.control.detectors.slo import SloDetector, SloSettings
from dynamo_regime.control.detectors.thresholds import Thresholds

__all__ = [
    "Detector",
    "DetectorSettings",
    "LoadDetector",
    "LoadSettings",
    "PaperDetector",
    "PaperSettings",
    "SloDetector",
    "SloSettings",
    "Thresholds",
    "make_detector",
]

DetectorSettings = Annotated[
    LoadSettings | PaperSettings | SloSettings, Field(discriminator="kind")
]
"""Settings of any detector, told apart by ``kind``."""


def make_detector(settings: LoadSettings | PaperSettings | SloSettings) -> Detector:
    """The detector that these settings describe, without any history."""
    match settings:
        case LoadSettings():
            return LoadDetector(settings)
        case PaperSettings():
            return PaperDetector(settings)
        case SloSettings():
            return SloDetector(settings)
        case _:
            assert_never(settings)
