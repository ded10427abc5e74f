import numpy as np
import pytest

from dynamo_regime.control import ConfigurationError, Profile, Regime, Setting
from dynamo_regime.control.profile import Knot, PoolProfile, Regimes
from dynamo_regime.control.profile_file import profile_from

KNOTS = PoolProfile(
    load_index=(
        Knot(load=0.0, temperature=0.0, prefill_weight=10.0),
        Knot(load=1.0, temperature=0.0, prefill_weight=1.0),
        Knot(load=2.0, temperature=0.4, prefill_weight=0.1),
    )
)


def test_a_pool_without_settings_of_its_own_has_the_default_ones() -> None:
    default = PoolProfile(
        regimes=Regimes(
            normal=Setting(temperature=0.0, prefill_weight=1.0),
            transition=Setting(temperature=0.0, prefill_weight=1.0),
            saturated=Setting(temperature=0.0, prefill_weight=1.0),
        )
    )
    profile = Profile(name="x", pools={"default": default, "prefill": KNOTS})
    assert profile.pool("prefill") == KNOTS
    assert profile.pool("aggregated") == default


def test_without_a_default_other_pools_are_left_alone() -> None:
    assert Profile(name="x", pools={"prefill": KNOTS}).pool("decode") is None


def test_a_curve_goes_through_its_knots_and_is_level_outside_them() -> None:
    weights = [KNOTS.at(Regime.NORMAL, load).prefill_weight for load in (-5, 0, 1, 2, 1e9)]
    assert weights == pytest.approx([10.0, 10.0, 1.0, 0.1, 0.1])


def test_a_curve_through_falling_knots_falls_everywhere() -> None:
    settings = [KNOTS.at(Regime.NORMAL, float(load)) for load in np.linspace(0.0, 2.0, 201)]
    weights = [setting.prefill_weight for setting in settings]
    temperatures = [setting.temperature for setting in settings]
    assert weights == sorted(weights, reverse=True)
    assert temperatures == sorted(temperatures)
    assert set(temperatures[:100]) == {0.0}  # and does not swing between equal knots


STATIC = {"temperature": 0, "prefill_weight": 1}

WRONG = {
    "a missing regime": (
        {"pools": {"default": {"regimes": {"normal": STATIC, "saturated": STATIC}}}},
        ["pools.default.regimes.transition", "missing", "add it"],
    ),
    "a missing value": (
        {"pools": {"prefill": {"load_index": [{"load": 0, "temperature": 0}]}}},
        ["pools.prefill.load_index", "prefill_weight", "missing"],
    ),
    "an unknown pool": (
        {"pools": {"decoder": {"regimes": dict.fromkeys(Regime, STATIC)}}},
        ["pools: 'decoder' is no pool", "prefill"],
    ),
    "an unknown key": ({"tempreture": 1}, ["tempreture", "unknown", "spelling"]),
    "an unknown detector": (
        {"detector": {"kind": "fft"}},
        ["detector.kind", "'fft'", "unknown", "load"],
    ),
    "a detector without a kind": (
        {"detector": {"learn_seconds": 1}},
        ["detector.kind", "missing"],
    ),
    "thresholds in the wrong order": (
        {
            "detector": {
                "kind": "paper",
                "ttft_p99_seconds": {"transition": 2, "saturated": 0.3},
            }
        },
        ["detector.ttft_p99_seconds", "transition (2)", "saturated (0.3)", "lower"],
    ),
    "a detector with two sources of thresholds": (
        {
            "detector": {
                "kind": "load",
                "learn_seconds": 60,
                "decode_occupancy": {"transition": 0.3, "saturated": 0.9},
            }
        },
        ["detector", "learn_seconds", "decode_occupancy", "remove one"],
    ),
    "an slo without a target": ({"detector": {"kind": "slo"}}, ["detector", "ttft_p99_seconds"]),
    "a negative temperature": (
        {"safe": {"temperature": -0.1, "prefill_weight": 1}},
        ["safe.temperature", "-0.1", "0 or more"],
    ),
    "thresholds of nothing": (
        {"detector": {"kind": "load", "learn_seconds": 0}},
        ["detector.learn_seconds", "0 must be a finite number above 0"],
    ),
    "a word for a number": (
        {"safe": {"temperature": "cold", "prefill_weight": 1}},
        ["safe.temperature", "'cold' must be a finite number"],
    ),
    "an infinite weight": (
        {"safe": {"temperature": 0, "prefill_weight": float("inf")}},
        ["safe.prefill_weight", "inf", "finite"],
    ),
    "a weight that is not a number": (
        {"safe": {"temperature": 0, "prefill_weight": float("nan")}},
        ["safe.prefill_weight", "nan", "finite"],
    ),
    "a yes for a number": (
        {"safe": {"temperature": True, "prefill_weight": 1}},
        ["safe.temperature", "yes", "number"],
    ),
    "knots that are out of order": (
        {
            "pools": {
                "default": {
                    "load_index": [
                        {"load": 1, "temperature": 0, "prefill_weight": 1},
                        {"load": 0, "temperature": 0, "prefill_weight": 1},
                    ]
                }
            }
        },
        ["pools.default", "load 1 to 0", "sort"],
    ),
    "regimes and knots at once": ({"pools": {"default": {}}}, ["pools.default", "either"]),
    "no pool at all": ({"pools": {}}, ["pools", "no pool in it"]),
}


@pytest.mark.parametrize(("content", "words"), WRONG.values(), ids=WRONG)
def test_a_wrong_profile_is_refused_in_one_sentence(
    content: dict[str, object], words: list[str]
) -> None:
    regimes = {"normal": STATIC, "transition": STATIC, "saturated": STATIC}
    whole = {"schema": 1, "name": "x", "pools": {"default": {"regimes": regimes}}, **content}
    with pytest.raises(ConfigurationError) as caught:
        profile_from(whole, "fleet.yaml")
    message = str(caught.value)
    assert message.startswith("fleet.yaml: ")
    assert "\n" not in message
    for word in words:
        assert word in message
