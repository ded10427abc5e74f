import pytest

from dynamo_regime.control import PRESETS, Profile, Regime

NORMAL, TRANSITION, SATURATED = Regime


def settings(name: str, pool: str = "prefill") -> list[tuple[float, float]]:
    found = PRESETS[name].pool(pool)
    assert found is not None
    at = [found.at(regime, 0.0) for regime in Regime]
    return [(each.temperature, each.prefill_weight) for each in at]


def test_the_static_preset_is_the_default_of_dynamo_at_every_load() -> None:
    assert settings("static") == [(0.0, 1.0)] * 3


def test_the_paper_preset_is_the_table_of_the_paper() -> None:
    assert settings("paper") == [(0.0, 1.0), (0.7, 1.0), (0.8, 0.1)]


def test_the_measured_preset_has_no_temperature_and_a_weight_that_falls_with_load() -> None:
    temperatures, weights = zip(*settings("measured"), strict=True)
    assert temperatures == (0.0, 0.0, 0.0)
    assert weights == tuple(sorted(weights, reverse=True))
    # What was found: better than 1 at rest up to 10; harm at saturation from 3; best .1 to .3.
    assert 1.0 < weights[0] < 3.0
    assert 0.1 <= weights[2] <= 0.3


@pytest.mark.parametrize("profile", PRESETS.values(), ids=PRESETS)
def test_every_preset_covers_every_pool_and_falls_back_to_the_default_of_dynamo(
    profile: Profile,
) -> None:
    assert all(profile.pool(pool) for pool in ("aggregated", "prefill", "decode", "encode"))
    assert (profile.safe.temperature, profile.safe.prefill_weight) == (0.0, 1.0)
