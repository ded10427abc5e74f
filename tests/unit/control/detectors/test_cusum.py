import pytest

from dynamo_regime.control.detectors.cusum import Cusum, evidence_of_fall, evidence_of_rise


def run(evidence: list[float]) -> list[Cusum]:
    sums = []
    current = Cusum()
    for index, each in enumerate(evidence):
        current = current.add(each, float(index))
        sums.append(current)
    return sums


def test_it_is_the_recursion_of_page() -> None:
    totals = [each.total for each in run([0.5, 0.5, -0.75, -0.5, 0.25])]
    # max(0, S + e): .5, 1, .25, 0, .25
    assert totals == pytest.approx([0.5, 1.0, 0.25, 0.0, 0.25])


def test_it_dates_the_change_to_where_the_sum_last_left_zero() -> None:
    sums = run([0.5, -1.0, 0.5, 0.5, 0.5])
    assert [each.since for each in sums] == [0.0, None, 2.0, 2.0, 2.0]


def test_one_wild_reading_is_no_more_than_one_reading() -> None:
    assert run([1e9])[-1].total == 1.0
    assert run([1.0, 1.0, -1e9])[-1].total == pytest.approx(1.0)


def test_evidence_is_full_a_whole_scale_away_from_the_threshold() -> None:
    assert evidence_of_rise(3.0, 2.0, scale=4.0) == pytest.approx(0.25)
    assert evidence_of_rise(6.0, 2.0, scale=4.0) == pytest.approx(1.0)
    # With a hysteresis of .2 it begins 20 % of the scale below the threshold.
    falls = [evidence_of_fall(value, 2.0, 2.0, hysteresis=0.2) for value in (2.0, 1.6, 0.8, 0.0)]
    assert falls == pytest.approx([-0.25, 0.0, 0.5, 1.0])
