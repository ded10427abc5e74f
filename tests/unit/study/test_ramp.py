import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad

from dynamo_regime.errors import InputError
from dynamo_regime.sim import MultiTurn
from dynamo_regime.study.ramp import open_conversations, ramped
from tests.unit.sim.runs import prompts


def test_a_request_is_sent_when_the_integral_of_the_slowness_says() -> None:
    trace = prompts([0.0, 10.0, 35.0, 50.0, 80.0, 100.0])
    sent, segments = ramped(trace, 1.0, 9.0)

    def slowness(recorded: float) -> float:
        return 1.0 / (1.0 + 8.0 * (1.0 - abs(2.0 * recorded / 100.0 - 1.0)))

    expected = [quad(slowness, 0.0, each, points=[50.0])[0] for each in trace.arrival_seconds]
    assert sent.arrival_seconds == pytest.approx(expected)
    assert sent.arrival_seconds[-1] == pytest.approx(100.0 * math.log(9.0) / 8.0)
    assert segments[1].from_seconds == pytest.approx(quad(slowness, 0.0, 100.0 / 6.0)[0])
    assert segments[3].from_seconds == pytest.approx(
        quad(slowness, 0.0, 400.0 / 6.0, points=[50.0])[0]
    )


def test_the_segments_follow_each_other_without_a_gap() -> None:
    _, segments = ramped(prompts([0.0, 1.0, 2.0]), 1.0, 4.0)
    assert [segment.name for segment in segments] == [
        "rising 1–2x",
        "rising 2–3x",
        "peak 3–4x",
        "falling 3–2x",
        "falling 2–1x",
    ]
    assert segments[0].from_seconds == 0.0
    assert segments[-1].until_seconds == math.inf
    assert all(one.until_seconds == next_.from_seconds for one, next_ in pairwise(segments))


def test_a_ramp_must_rise_over_some_time() -> None:
    with pytest.raises(InputError, match="speeds must rise"):
        ramped(prompts([0.0, 1.0]), 2.0, 2.0)
    with pytest.raises(InputError, match="all requests of the trace come at once"):
        ramped(prompts([1.0, 1.0]), 1.0, 2.0)


def test_conversations_have_the_moments_of_their_parameters() -> None:
    load = MultiTurn(sessions=4000, turns=3, prefixes=8, zipf_exponent=1.0)
    trace = open_conversations(load, seed=1)
    assert len(trace) == 12_000
    assert trace.output_tokens.mean() == pytest.approx(128.5, rel=0.03)
    # The three turns of a conversation see 1, 2 and 3 inputs, and 0, 1 and 2 answers.
    expected = 2048 + 2 * 256.5 + 1 * 128.5
    assert trace.input_tokens.mean() == pytest.approx(expected, rel=0.02)
    first = trace.blocks[trace.block_offsets[:-1]] // 32
    shares = np.bincount(first.astype(np.int64), minlength=8) / len(trace)
    harmonic = sum(1.0 / rank for rank in range(1, 9))
    assert shares[0] == pytest.approx(1.0 / harmonic, abs=0.03)
    assert shares[7] == pytest.approx(0.125 / harmonic, abs=0.03)


def test_a_turn_begins_with_all_that_was_said_before() -> None:
    trace = open_conversations(MultiTurn(sessions=1, turns=4, prefix_tokens=128), seed=2)
    turns = [
        trace.blocks[begin:end].tolist() for begin, end in pairwise(trace.block_offsets.tolist())
    ]
    assert np.all(np.diff(trace.arrival_seconds) > 0.0)
    for earlier, later in pairwise(turns):
        assert later[: len(earlier)] == earlier
    assert len(set(turns[-1])) == len(turns[-1])


def test_the_same_seed_has_the_same_conversations() -> None:
    one, same, other = (open_conversations(MultiTurn(sessions=20), seed) for seed in (3, 3, 4))
    assert np.array_equal(one.arrival_seconds, same.arrival_seconds)
    assert not np.array_equal(one.arrival_seconds, other.arrival_seconds)
