"""The profiles that ship."""

from dynamo_regime.control.profile import PoolProfile, Profile, Regimes, Setting


def _preset(name: str, description: str, **regimes: tuple[float, float]) -> Profile:
    settings = {
        regime: Setting(temperature=temperature, prefill_weight=weight)
        for regime, (temperature, weight) in regimes.items()
    }
    pools = {"default": PoolProfile(regimes=Regimes.model_validate(settings))}
    return Profile.model_validate({"name": name, "description": description, "pools": pools})


STATIC = _preset(
    "static",
    "Dynamo's default at every load: for a controller that only watches",
    normal=(0.0, 1.0),
    transition=(0.0, 1.0),
    saturated=(0.0, 1.0),
)

PAPER = _preset(
    "paper",
    "The table of arXiv 2606.17081, whose last row never fired there",
    normal=(0.0, 1.0),
    transition=(0.7, 1.0),
    saturated=(0.8, 0.1),
)

# What Dynamo 1.6.1's simulator said of 8 workers: at rest a weight of 10 beats the default of 1 by
# 10–26 % in mean TTFT; at saturation .1–.3 is best, and 3 or more can be 42 times worse; a
# temperature above 0 only hurts while the router's state is fresh. From that the mild ends: never a
# temperature; at rest 2, towards the better 10 yet below the 3 that harms while a rising load has
# not been noticed; at saturation .3 and not .1. Nothing was measured in between, so the transition
# regime keeps Dynamo's default. One fleet is no evidence for another: there is none in here, and
# `tune` writes a better profile.
MEASURED = _preset(
    "measured",
    "Conservative: a prefill weight that falls as load rises, and no temperature",
    normal=(0.0, 2.0),
    transition=(0.0, 1.0),
    saturated=(0.0, 0.3),
)

PRESETS = {profile.name: profile for profile in (STATIC, PAPER, MEASURED)}
