import pytest

from dynamo_regime.control import Reading, Regime
from dynamo_regime.control.detectors import SloDetector, SloSettings, Thresholds
from tests.unit.control.detectors.driving import latency, ttft_readings, verdicts

TTFT = SloSettings(kind="slo", ttft_p99_seconds=1.0)


def both(ttft_seconds: float | None, itl_seconds: float | None) -> Reading:
    return Reading(time=1.0, window=1.0, ttft=latency(ttft_seconds), itl=latency(itl_seconds))


def test_its_thresholds_are_half_the_target_and_the_target() -> None:
    assert TTFT.thresholds(1.0) == Thresholds(transition=0.5, saturated=1.0)
    narrow = SloSettings(kind="slo", ttft_p99_seconds=1.0, transition_share=0.8)
    assert narrow.thresholds(1.0) == Thresholds(transition=0.8, saturated=1.0)


@pytest.mark.parametrize(
    ("seconds", "regime"),
    [(0.4, Regime.NORMAL), (0.6, Regime.TRANSITION), (1.2, Regime.SATURATED)],
)
def test_the_regime_follows_from_the_target(seconds: float, regime: Regime) -> None:
    (verdict,) = verdicts(SloDetector(TTFT), ttft_readings([seconds], 1.0))
    assert verdict.regime is regime


def test_the_worse_of_two_targets_decides() -> None:
    settings = SloSettings(kind="slo", ttft_p99_seconds=1.0, itl_p99_seconds=0.05)
    (by_itl,) = verdicts(SloDetector(settings), [both(0.1, 0.06)])
    (by_ttft,) = verdicts(SloDetector(settings), [both(0.7, 0.01)])
    assert by_itl.regime is Regime.SATURATED
    assert "ITL" in by_itl.reason
    assert by_ttft.regime is Regime.TRANSITION
    assert "TTFT" in by_ttft.reason


def test_the_target_that_can_be_seen_decides_alone() -> None:
    settings = SloSettings(kind="slo", ttft_p99_seconds=1.0, itl_p99_seconds=0.05)
    (verdict,) = verdicts(SloDetector(settings), [both(None, 0.03)])
    assert verdict.regime is Regime.TRANSITION
    (nothing,) = verdicts(SloDetector(settings), [both(None, None)])
    assert nothing.regime is None


def test_a_regime_is_left_only_some_way_below_its_threshold() -> None:
    detector = SloDetector(SloSettings(kind="slo", ttft_p99_seconds=1.0, hysteresis=0.2))
    # Smoothed, the P99 sinks from .6 towards .45: below θ1 = .5 at once, below .8 θ1 never.
    found = verdicts(detector, ttft_readings([0.6] + [0.45] * 30, 1.0))
    assert found[-1].level == pytest.approx(0.9, abs=0.01)
    assert found[-1].regime is Regime.TRANSITION
    (low,) = verdicts(detector, ttft_readings([0.1], 1.0))
    assert low.regime is Regime.NORMAL
