"""What is compared: a static setting, or a controller with its profile."""

import re
from dataclasses import dataclass
from pathlib import Path

from dynamo_regime.control.detectors import LoadSettings, PaperSettings, SloSettings
from dynamo_regime.control.profile import Profile, Setting
from dynamo_regime.control.profile_file import find_profile
from dynamo_regime.errors import InputError
from dynamo_regime.sim import RIVALS, Rival, Toll

DYNAMO_DEFAULT = Setting(temperature=0.0, prefill_weight=1.0)


@dataclass(frozen=True, slots=True)
class Policy:
    """How a run is routed.

    Attributes:
        name: For tables.
        setting: What every pool starts with.
        profile: What the controller swaps by; None is static.
        detector: What the controller detects by; by default the profile's own, or ``load``.
        toll: The plug-in's mode ``toll`` in place of Dynamo's linear cost.
        rival: A policy of someone else in place of the plug-in.
    """

    name: str
    setting: Setting = DYNAMO_DEFAULT
    profile: Profile | None = None
    detector: LoadSettings | PaperSettings | SloSettings | None = None
    toll: Toll | None = None
    rival: Rival | None = None


def static_policy(temperature: float, prefill_weight: float) -> Policy:
    """The same τ and ω throughout."""
    setting = Setting(temperature=temperature, prefill_weight=prefill_weight)
    return Policy(f"τ {temperature:g}, ω {prefill_weight:g}", setting)


def adaptive_policy(profile: Profile) -> Policy:
    """A controller that starts with Dynamo's default."""
    return Policy(f"adaptive: {profile.name}", profile=profile)


def parse_policy(text: str, folder: Path) -> Policy:
    """The policy that a text names.

    That is ``0,0.3`` (τ, ω), ``toll``, a rival such as ``lmetric``, a preset or a profile's path.

    Raises:
        InputError: It is a pair of numbers that no policy can have.
        ConfigurationError: It is neither a pair nor a profile.
    """
    if match := re.fullmatch(r"\s*([^,\s]+)\s*,\s*([^,\s]+)\s*", text):
        try:
            return static_policy(float(match[1]), float(match[2]))
        except ValueError:
            raise InputError(
                f"{text!r} is no policy: τ and ω are finite numbers, 0 or more, as in 0,0.3"
            ) from None
    if text == "toll":
        return Policy(text, toll=Toll())
    for rival in RIVALS:
        if text == rival:
            return Policy(text, rival=rival)
    return adaptive_policy(find_profile(text, folder))
