"""The regime controller: sees that the load has changed, and swaps (τ, ω) in place.

``Reading → Detector → Verdict → RegimeMachine → Transition → Profile → PoolSwap``, each a small
piece that is told the time and never asks for it; :class:`Controller` puts them together.
"""

from dynamo_regime.control.checked import ConfigurationError
from dynamo_regime.control.controller import Controller, Step
from dynamo_regime.control.events import Event, EventKind, EventRing, PoolSwap
from dynamo_regime.control.presets import PRESETS
from dynamo_regime.control.profile import Profile, Setting
from dynamo_regime.control.profile_file import find_profile, load_profile, save_profile
from dynamo_regime.control.reading import Latency, Quantile, Reading, WorkerLoad
from dynamo_regime.control.regime import Cause, RegimeMachine, Transition
from dynamo_regime.control.router_policy import split_router_policy
from dynamo_regime.control.settings import ControllerSettings, Mode, RegimeSettings
from dynamo_regime.control.verdict import Regime, Verdict

__all__ = [
    "PRESETS",
    "Cause",
    "ConfigurationError",
    "Controller",
    "ControllerSettings",
    "Event",
    "EventKind",
    "EventRing",
    "Latency",
    "Mode",
    "PoolSwap",
    "Profile",
    "Quantile",
    "Reading",
    "Regime",
    "RegimeMachine",
    "RegimeSettings",
    "Setting",
    "Step",
    "Transition",
    "Verdict",
    "WorkerLoad",
    "find_profile",
    "load_profile",
    "save_profile",
    "split_router_policy",
]
