"""Arrivals against what theory says of them."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from dynamo_regime.cli.simulation_options import workload_of
from dynamo_regime.errors import RegimeError
from dynamo_regime.sim import Trace
from dynamo_regime.sim.workload.arrivals import Arrivals, Stage


def arrivals(stages: Sequence[tuple[float, float, float]], **rest: float | str) -> Trace:
    described = tuple(
        Stage(duration_seconds=seconds, rate_per_second=begin, end_rate_per_second=end)
        for seconds, begin, end in stages
    )
    return Arrivals.model_validate({"stages": described, **rest}).trace()


@pytest.mark.parametrize("variation", [0.25, 1.0, 2.0])
def test_rate_and_variation_of_gaps_are_those_asked_for(variation: float) -> None:
    gaps = np.diff(arrivals([(10_000.0, 10.0, 10.0)], gap_variation=variation).arrival_seconds)
    # Four standard errors of the mean of 100,000 gaps.
    assert gaps.mean() == pytest.approx(0.1, rel=4 * variation / 100_000**0.5)
    assert gaps.std() / gaps.mean() == pytest.approx(variation, rel=0.03)


def test_steps_pauses_and_ramps_have_the_integral_of_their_rate() -> None:
    stages = [(100.0, 50.0, 50.0), (100.0, 0.0, 0.0), (100.0, 0.0, 200.0), (100.0, 200.0, 20.0)]
    times = arrivals(stages).arrival_seconds
    counts, _ = np.histogram(times, bins=[0, 100, 200, 250, 300, 350, 400])
    # By hand; of a ramp from 0, a quarter comes in its first half.
    expected = np.array([5000, 0, 2500, 7500, 7750, 3250])
    assert np.all(np.abs(counts - expected) <= 4 * np.sqrt(expected))
    assert np.all(np.diff(times) >= 0)


def test_lengths_are_fixed_or_exponential() -> None:
    fixed = arrivals([(100.0, 10.0, 10.0)], lengths="fixed", input_tokens=100, output_tokens=7)
    assert set(fixed.input_tokens.tolist()) == {100}
    assert set(fixed.output_tokens.tolist()) == {7}
    drawn = arrivals([(1000.0, 50.0, 50.0)], input_tokens=1000)
    assert drawn.input_tokens.mean() == pytest.approx(1000, rel=0.02)
    assert drawn.input_tokens.std() == pytest.approx(1000, rel=0.03)


def test_prefixes_are_shared_by_zipfs_law_and_nothing_else_is() -> None:
    trace = arrivals([(1000.0, 20.0, 20.0)], prefixes=2, prefix_tokens=100, zipf_exponent=1.0)
    first = trace.blocks[trace.block_offsets[:-1]]
    # 100 tokens are two blocks; 1/1 to 1/2 are two thirds to one.
    assert set(first.tolist()) == {0, 2}
    assert np.mean(first == 0) == pytest.approx(2 / 3, abs=0.015)
    own = trace.blocks[trace.blocks >= 4]
    assert np.unique(own).size == own.size == trace.blocks.size - 2 * len(trace)


def test_a_file_describes_them_and_a_wrong_one_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "load.yaml"
    path.write_text("kind: arrivals\nstages: [{duration_seconds: 10, rate_per_second: 5}]\n")
    read = workload_of(str(path), speed=None, concurrency=None, requests=None)
    assert isinstance(read, Trace)
    np.testing.assert_array_equal(
        read.arrival_seconds, arrivals([(10.0, 5.0, 5.0)]).arrival_seconds
    )
    path.write_text("kind: arrivals\nstages: [{duration_seconds: 10, rate_per_second: 0}]\n")
    with pytest.raises(RegimeError, match=r"load\.yaml.*make 0 requests"):
        workload_of(str(path), speed=None, concurrency=None, requests=None)
