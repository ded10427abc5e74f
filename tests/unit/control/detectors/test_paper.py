import pytest

from dynamo_regime.control import Reading, Regime
from dynamo_regime.control.detectors import PaperDetector, PaperSettings, Thresholds
from tests.unit.control.detectors.driving import latency, transitions, ttft_readings, verdicts

SMALL = PaperSettings(kind="paper", preset="70B")


def test_it_follows_a_series_computed_by_hand() -> None:
    series = [0.200, 0.200, 10.000, 10.000, 0.400, 0.200, 0.200]
    # s ← .3 x + .7 s, on paper:
    # .2; .2; .3·10 + .7·.2 = 3.14; 3 + .7·3.14 = 5.198; .12 + .7·5.198 = 3.7586;
    # .06 + .7·3.7586 = 2.69102; .06 + .7·2.69102 = 1.943714
    by_hand = [0.2, 0.2, 3.14, 5.198, 3.7586, 2.69102, 1.943714]
    found = verdicts(PaperDetector(SMALL), ttft_readings(series, 5.0))
    assert [verdict.statistic for verdict in found] == pytest.approx(by_hand)
    assert [verdict.regime for verdict in found] == [
        Regime.NORMAL,
        Regime.NORMAL,
        Regime.SATURATED,
        Regime.SATURATED,
        Regime.SATURATED,
        Regime.SATURATED,
        Regime.TRANSITION,
    ]


def test_its_presets_are_the_thresholds_of_the_paper() -> None:
    large = PaperSettings(kind="paper", preset="340B")
    assert SMALL.thresholds == Thresholds(transition=0.3, saturated=2.0)
    assert large.thresholds == Thresholds(transition=1.0, saturated=10.0)


def test_its_level_is_1_and_2_at_the_thresholds() -> None:
    for seconds, level in ((0.15, 0.5), (0.3, 1.0), (1.15, 1.5), (2.0, 2.0), (3.7, 3.0)):
        (verdict,) = verdicts(PaperDetector(SMALL), ttft_readings([seconds], 5.0))
        assert verdict.level == pytest.approx(level)


def test_three_readings_in_a_row_make_a_transition_and_two_do_not() -> None:
    calm, busy = [0.1] * 4, 1.5
    # One high reading is smoothed to .52 s, above θ1, for as long as it takes to decay.
    assert transitions(PaperDetector(SMALL), ttft_readings([*calm, 0.5, 0.1, 0.1], 5.0)) == []
    (transition,) = transitions(PaperDetector(SMALL), ttft_readings([*calm, busy, busy, busy], 5.0))
    assert (transition.time, transition.after) == (35.0, Regime.TRANSITION)


def test_a_window_without_a_p99_changes_nothing() -> None:
    detector = PaperDetector(SMALL)
    first, gap, last = verdicts(detector, ttft_readings([1.0, None, 2.0], 5.0))
    assert (gap.level, gap.regime, gap.statistic) == (None, None, first.statistic)
    assert last.statistic == pytest.approx(0.3 * 2.0 + 0.7 * 1.0)


@pytest.mark.parametrize("seconds", [float("nan"), float("inf"), -1.0, 1e300])
def test_a_p99_that_cannot_be_true_is_none(seconds: float) -> None:
    (verdict,) = verdicts(PaperDetector(SMALL), ttft_readings([seconds], 5.0))
    assert verdict.regime is None


def test_in_the_last_bucket_the_lower_bound_counts() -> None:
    reading = Reading(time=5.0, window=5.0, ttft=latency(10.0, in_last_bucket=True))
    (verdict,) = verdicts(PaperDetector(SMALL), [reading])
    assert verdict.regime is Regime.SATURATED
