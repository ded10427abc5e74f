"""Quantiles of Prometheus histograms, against known answers and numpy on the raw samples."""

import math

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from dynamo_regime.control.reading import Quantile
from dynamo_regime.control.signals.histogram import Histogram, added, latency, merge

INF = math.inf
ANY = st.floats(allow_nan=True, allow_infinity=True)


def histogram(*buckets: tuple[float, float]) -> Histogram:
    made = Histogram.from_buckets(buckets)
    assert made is not None
    return made


def of_samples(samples: list[float], bounds: list[float]) -> Histogram:
    return histogram(
        *((bound, float(sum(sample <= bound for sample in samples))) for bound in [*bounds, INF])
    )


@pytest.mark.parametrize(
    ("q", "expected"),
    [
        (0.05, 0.05),  # rank 5 of the 10 between 0 and 0.1
        (0.10, 0.1),
        (0.50, 0.1 + 0.4 * 40 / 80),  # rank 50, 40 of the 80 between 0.1 and 0.5
        (0.90, 0.5),
        (0.99, 0.5 + 1.5 * 9 / 10),
        (1.00, 2.0),
    ],
)
def test_a_quantile_is_interpolated_within_its_bucket(q: float, expected: float) -> None:
    quantile = histogram((0.1, 10), (0.5, 90), (2.0, 100), (INF, 100)).quantile(q)
    assert quantile is not None
    assert quantile.value_seconds == pytest.approx(expected)
    assert not quantile.in_last_bucket


def test_a_quantile_above_the_highest_bound_is_that_bound_and_marked() -> None:
    assert histogram((0.1, 10), (0.5, 90), (INF, 100)).quantile(0.99) == Quantile(0.5, True)


def test_dynamos_lowest_bucket_which_ends_at_zero_does_no_harm() -> None:
    assert histogram((0.0, 0), (0.1, 10), (INF, 10)).quantile(0.5) == Quantile(0.05)
    assert histogram((0.0, 10), (0.1, 10), (INF, 10)).quantile(0.5) == Quantile(0.0)


def test_nothing_observed_has_no_quantile() -> None:
    assert histogram((0.1, 0), (INF, 0)).quantile(0.5) is None
    assert histogram((INF, 10)).quantile(0.5) is None


@pytest.mark.parametrize("q", [0.0, -1.0, 1.1, math.nan])
def test_a_quantile_outside_0_to_1_is_an_error(q: float) -> None:
    with pytest.raises(ValueError, match="a quantile is within"):
        histogram((0.1, 1), (INF, 1)).quantile(q)


SAMPLES = st.lists(st.floats(0, 1000), min_size=1, max_size=200)
BOUNDS = st.lists(st.floats(1e-3, 900), min_size=1, max_size=20, unique=True).map(sorted)
QUANTILE = st.floats(0.001, 1.0)


@given(SAMPLES, BOUNDS, QUANTILE)
def test_a_quantile_lies_in_the_bucket_of_the_samples_own_quantile(
    samples: list[float], bounds: list[float], q: float
) -> None:
    exact = float(np.quantile(samples, q, method="inverted_cdf"))
    found = of_samples(samples, bounds).quantile(q)
    assert found is not None
    upper = min((bound for bound in bounds if bound >= exact), default=INF)
    lower = max((bound for bound in bounds if bound < exact), default=0.0)
    if upper == INF:
        assert found == Quantile(bounds[-1], True)
    else:
        assert not found.in_last_bucket
        assert abs(found.value_seconds - exact) <= upper - lower


@given(SAMPLES, SAMPLES, BOUNDS, QUANTILE)
def test_the_quantile_between_two_scrapes_is_that_of_the_samples_in_between(
    before: list[float], between: list[float], bounds: list[float], q: float
) -> None:
    earlier, later = of_samples(before, bounds), of_samples(before + between, bounds)
    assert later.since(earlier) == of_samples(between, bounds)
    assert later.since(earlier).quantile(q) == of_samples(between, bounds).quantile(q)


@given(SAMPLES, SAMPLES, BOUNDS)
def test_after_a_restart_all_that_is_there_is_new(
    before: list[float], after: list[float], bounds: list[float]
) -> None:
    # A count that is higher than before although the process is a new one cannot be told.
    earlier, later = of_samples(before + after + [0.0], bounds), of_samples(after, bounds)
    assert later.since(earlier) == later


@given(SAMPLES, SAMPLES, BOUNDS, BOUNDS)
def test_other_buckets_than_before_mean_a_restart(
    before: list[float], after: list[float], bounds: list[float], others: list[float]
) -> None:
    later = of_samples(after, others)
    if bounds != others:
        assert later.since(of_samples(before, bounds)) == later


@given(st.lists(st.tuples(SAMPLES, BOUNDS), min_size=1, max_size=4))
def test_a_merged_histogram_is_exact_at_the_bounds_that_all_share(
    parts: list[tuple[list[float], list[float]]],
) -> None:
    shared = sorted(set.intersection(*(set(bounds) for _, bounds in parts)))
    together = [sample for samples, _ in parts for sample in samples]
    assert merge(of_samples(*part) for part in parts) == of_samples(together, shared)


def test_nothing_merged_is_nothing() -> None:
    assert merge([]) is None


@given(
    st.lists(st.tuples(ANY, ANY), max_size=10), st.lists(st.tuples(ANY, ANY), max_size=10), QUANTILE
)
def test_garbage_never_raises_and_never_yields_a_number_that_is_none(
    one: list[tuple[float, float]], other: list[tuple[float, float]], q: float
) -> None:
    a, b = Histogram.from_buckets(one), Histogram.from_buckets(other)
    between = added({"series": a}, {"series": b})
    for made in (a, b, between, merge(part for part in (a, b) if part is not None)):
        if made is None:
            continue
        quantile = made.quantile(q)
        assert quantile is None or math.isfinite(quantile.value_seconds)
        assert made.total >= 0


@pytest.mark.parametrize(
    "buckets",
    [
        [],
        [(0.1, 5.0)],
        [(0.1, math.nan), (INF, 5.0)],
        [(0.1, -1.0), (INF, 5.0)],
        [(0.1, INF), (INF, INF)],
        [(math.nan, 1.0), (INF, 5.0)],
        [(-INF, 1.0), (INF, 5.0)],
        [(0.1, 1.0), (0.1, 2.0), (INF, 5.0)],
    ],
)
def test_a_histogram_that_cannot_be_is_absent(buckets: list[tuple[float, float]]) -> None:
    assert Histogram.from_buckets(buckets) is None


def test_counts_that_fall_between_buckets_are_levelled() -> None:
    assert histogram((0.1, 10), (0.5, 9), (INF, 12)).counts == (10, 10, 12)


def test_a_series_that_could_not_be_used_once_is_left_out_until_its_growth_is_known() -> None:
    first, second = histogram((0.1, 10), (INF, 10)), histogram((0.1, 15), (INF, 15))
    assert added({"a": None}, {"a": first}) is None
    assert added({"a": second}, {"a": None}) is None
    assert added({"a": second}, {"a": first}) == histogram((0.1, 5), (INF, 5))


def test_a_series_that_was_not_there_before_is_all_new() -> None:
    born = histogram((0.1, 3), (INF, 3))
    assert added({"model b": born}, {}) == born


def test_below_the_minimum_count_there_is_a_count_but_no_quantile() -> None:
    few, enough = histogram((0.1, 19), (INF, 19)), histogram((0.1, 20), (INF, 20))
    assert latency(None, 20) is None
    below, at = latency(few, 20), latency(enough, 20)
    assert below is not None
    assert (below.count, below.p50, below.p99) == (19, None, None)
    assert at is not None
    assert at.p99 == Quantile(0.1 * 0.99)
