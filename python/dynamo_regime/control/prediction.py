"""What a change of policy can honestly be expected to do: what was measured of it, or nothing."""

from dynamo_regime.control.profile import Evidence, Metric, Profile, Setting
from dynamo_regime.control.verdict import Regime

NO_PREDICTION = "no prediction: the profile has no measurement of both settings in this regime"

_METRICS: dict[Metric, str] = {
    "ttft_mean_seconds": "mean TTFT",
    "ttft_p99_seconds": "TTFT P99",
    "itl_mean_seconds": "mean ITL",
    "itl_p99_seconds": "ITL P99",
}


def predicted_effect(
    profile: Profile, pool: str, regime: Regime, before: Setting, after: Setting
) -> str:
    """The measured effect of going from one setting to another in a regime, in a sentence.

    Nothing is interpolated: there is a prediction only where the profile's evidence has the same
    metric of both settings, in this pool and regime.
    """
    measured = [each for each in profile.evidence if each.pool == pool and each.regime is regime]
    effects = [
        f"{name} {_result(first)} → {_result(second)}"
        for metric, name in _METRICS.items()
        for first in _of(measured, metric, before)[:1]
        for second in _of(measured, metric, after)[:1]
    ]
    if not effects:
        return NO_PREDICTION
    workload = "" if profile.workload is None else f" on {profile.workload.description}"
    return f"{', '.join(effects)}, as measured{workload}"


def _of(measured: list[Evidence], metric: Metric, setting: Setting) -> list[Evidence]:
    return [
        each
        for each in measured
        if each.metric == metric
        and each.temperature == setting.temperature
        and each.prefill_weight == setting.prefill_weight
    ]


def _result(evidence: Evidence) -> str:
    spread = "" if evidence.deviation is None else f" ± {evidence.deviation:.3g}"
    return f"{evidence.value:.3g}{spread} s ({evidence.requests} requests)"
