from dynamo_regime.control import PRESETS, Regime, Setting
from dynamo_regime.control.prediction import NO_PREDICTION, predicted_effect
from dynamo_regime.control.profile import Evidence, Workload

BEFORE = Setting(temperature=0.0, prefill_weight=3.0)
AFTER = Setting(temperature=0.0, prefill_weight=0.3)


def measured(setting: Setting, value: float, deviation: float | None = None) -> Evidence:
    return Evidence(
        pool="prefill",
        regime=Regime.SATURATED,
        temperature=setting.temperature,
        prefill_weight=setting.prefill_weight,
        metric="ttft_mean_seconds",
        value=value,
        deviation=deviation,
        requests=3000,
    )


PROFILE = PRESETS["measured"].model_copy(
    update={
        "evidence": (measured(BEFORE, 7.55), measured(AFTER, 0.18, 0.01)),
        "workload": Workload(description="the conversation trace"),
    }
)


def test_what_was_measured_of_both_settings_is_the_prediction() -> None:
    said = predicted_effect(PROFILE, "prefill", Regime.SATURATED, BEFORE, AFTER)
    assert said == (
        "mean TTFT 7.55 s (3000 requests) → 0.18 ± 0.01 s (3000 requests),"
        " as measured on the conversation trace"
    )


def test_nothing_is_interpolated_between_settings_regimes_or_pools() -> None:
    near = Setting(temperature=0.0, prefill_weight=0.31)
    for pool, regime, after in (
        ("prefill", Regime.SATURATED, near),
        ("prefill", Regime.NORMAL, AFTER),
        ("decode", Regime.SATURATED, AFTER),
    ):
        assert predicted_effect(PROFILE, pool, regime, BEFORE, after) == NO_PREDICTION
