"""The controller's settings: the section ``regime_controller``."""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from dynamo_regime.control.checked import Checked, Positive
from dynamo_regime.control.detectors import DetectorSettings
from dynamo_regime.control.fleet.settings import FleetSettings
from dynamo_regime.control.profile import Profile
from dynamo_regime.control.profile_file import find_profile, profile_from
from dynamo_regime.control.signals.settings import InProcessSignals, SignalSettings


class Mode(StrEnum):
    """What the controller may do."""

    ACT = "act"
    """Swap."""
    SHADOW = "shadow"
    """Decide, and say what it would have swapped."""
    OFF = "off"
    """Nothing at all."""


class RegimeSettings(Checked):
    """When the regime changes; see :class:`dynamo_regime.control.regime.RegimeMachine`.

    Attributes:
        debounce_readings: Verdicts in a row that a change takes; by default the detector's own
            number.
        min_dwell_seconds: Least time between two transitions.
        absence_deadline_seconds: After so long without a telling reading the safe policy is used.
    """

    debounce_readings: Annotated[int, Field(ge=1, le=10_000)] | None = None
    min_dwell_seconds: Positive = 5.0
    absence_deadline_seconds: Positive = 30.0


def _profile(value: object) -> object:
    if not isinstance(value, str | Mapping):
        raise ValueError(f"{value!r} must be a preset's name, the path of a file, or a profile")
    return value


def _mode(value: object) -> object:
    # YAML 1.1 reads an unquoted off as false.
    return Mode.OFF if value is False else value


class ControllerSettings(Checked):
    """What to decide by.

    Attributes:
        mode: ``shadow`` by default, for a first deployment should change nothing.
        profile: A preset, the path of a file, or a whole profile.
        detector: Settings of a detector; by default the profile's own, or else ``load``.
        regime: When the regime changes.
        ttft_limit_seconds: A request above it counts as hurt by a transition; None counts none.
        signals: What to decide by; by default what this process sees.
        fleet: Whom to decide with; None is alone.
    """

    mode: Annotated[Mode, BeforeValidator(_mode)] = Mode.SHADOW
    profile: Annotated[str | Mapping[str, Any], BeforeValidator(_profile)] = "measured"
    detector: DetectorSettings | None = None
    regime: RegimeSettings = RegimeSettings()
    ttft_limit_seconds: Positive | None = None
    signals: SignalSettings = InProcessSignals()
    fleet: FleetSettings | None = None

    def resolved_profile(self, place: str, folder: Path) -> Profile:
        """The profile itself.

        Args:
            place: The file and section that these settings come from, for messages.
            folder: What the path of a file is relative to.

        Raises:
            ConfigurationError: There is none, or it cannot be used.
        """
        if isinstance(self.profile, str):
            return find_profile(self.profile, folder)
        return profile_from(self.profile, f"{place}.profile")
