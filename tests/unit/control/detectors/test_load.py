import numpy as np
import pytest

from dynamo_regime.control import Reading, Regime, WorkerLoad
from dynamo_regime.control.detectors import LoadDetector, LoadSettings, Thresholds
from dynamo_regime.control.detectors.load_settings import Signal
from tests.unit.control.detectors.driving import load_reading, transitions, verdicts
from tests.unit.control.synthetic import Fleet, closed_loop, open_loop

INTERVAL = 0.25


def noisy_steps(seed: int) -> list[Reading]:
    """60 s of each: 1, 30 and 1 prompts of 50 ms in wait on average, Poisson."""
    rng = np.random.default_rng(seed)
    means = [1] * 240 + [30] * 240 + [1] * 240
    return [
        load_reading((index + 1) * INTERVAL, 0.05 * rng.poisson(mean))
        for index, mean in enumerate(means)
    ]


@pytest.mark.parametrize("seed", range(5))
def test_it_switches_within_two_seconds_of_a_step_up_and_of_a_step_down(seed: int) -> None:
    up, down = transitions(LoadDetector(LoadSettings()), noisy_steps(seed))
    assert (up.before, up.after) == (Regime.NORMAL, Regime.TRANSITION)
    assert (down.before, down.after) == (Regime.TRANSITION, Regime.NORMAL)
    assert 60.0 < up.time <= 62.0
    assert 120.0 < down.time <= 122.0


@pytest.mark.parametrize("utilisation", [0.3, 0.6, 0.85])
def test_ten_minutes_of_steady_load_make_no_switch(utilisation: float) -> None:
    fleet = Fleet(workers=8)
    rate = utilisation * fleet.capacity
    steady = open_loop(fleet, lambda _: rate, 600.0, INTERVAL, seed=1)
    assert transitions(LoadDetector(LoadSettings()), steady) == []


def test_ten_minutes_of_steady_load_make_no_switch_with_learned_thresholds() -> None:
    # Prompts of 8,000 tokens keep a worker busy for .4 s each: the default of .3 s would be wrong.
    fleet = Fleet(workers=4, prompt_tokens=8_000.0)
    steady = open_loop(fleet, lambda _: 0.6 * fleet.capacity, 600.0, INTERVAL, seed=1)
    assert transitions(LoadDetector(LoadSettings(learn_seconds=120.0)), steady) == []


@pytest.mark.parametrize("learn_seconds", [None, 60.0])
def test_a_closed_loop_spike_is_met_within_two_seconds_both_ways(
    learn_seconds: float | None,
) -> None:
    # 16, 128 and 16 requests in flight on three workers.
    fleet = Fleet(
        workers=3,
        prefill_tokens_per_second=1664.0,
        prompt_tokens=128.0,
        prompt_spread=0.1,
        decode_seconds=1.0,
    )
    spike = list(
        closed_loop(fleet, lambda time: 128 if 90 <= time < 150 else 16, 210.0, INTERVAL, seed=1)
    )
    detector = LoadDetector(LoadSettings(learn_seconds=learn_seconds))
    up, further, down, back = transitions(detector, spike)
    assert [each.after.rank for each in (up, further, down, back)] == [1, 2, 1, 0]
    assert 90.0 < up.time <= 92.0
    # The step down: the 112 that are too many must finish first. Then the backlog is gone.
    drained = next(
        reading.time for reading in spike if reading.time > 150.0 and backlog_seconds(reading) < 0.3
    )
    assert 150.0 < down.time <= drained + 2.0


def backlog_seconds(reading: Reading) -> float:
    workers = reading.workers or ()
    tokens = [worker.prefill_tokens or 0.0 for worker in workers]
    return sum(tokens) / len(tokens) / (reading.prefill_tokens_per_second or 1.0)


def test_decode_occupancy_alone_makes_a_switch() -> None:
    series = [0.3] * 40 + [0.95] * 40
    readings = [load_reading(INTERVAL * (i + 1), 0.0, each) for i, each in enumerate(series)]
    up, *_ = transitions(LoadDetector(LoadSettings()), readings)
    assert 10.0 < up.time <= 12.0
    assert "KV blocks" in up.reason


def test_a_transition_says_since_when() -> None:
    series = [0.05] * 40 + [1.0] * 40
    readings = [load_reading(INTERVAL * (i + 1), each) for i, each in enumerate(series)]
    (up,) = transitions(LoadDetector(LoadSettings()), readings)
    assert up.since == 10.25


def test_the_busiest_pool_counts_and_idle_pools_do_not_dilute_it() -> None:
    prefill = load_reading(1.0, 1.15, pool="prefill").workers or ()
    decode = load_reading(1.0, 0.0, pool="decode").workers or ()
    reading = Reading(
        time=1.0,
        window=INTERVAL,
        workers=prefill + decode * 5,
        prefill_tokens_per_second=1_000.0,
    )
    (verdict,) = verdicts(LoadDetector(LoadSettings()), [reading])
    assert verdict.level == pytest.approx(1.5)


def test_settings_stand_in_for_what_the_readings_do_not_say() -> None:
    bare = Reading(
        time=1.0,
        window=INTERVAL,
        workers=(WorkerLoad(worker_id=1, dp_rank=0, prefill_tokens=300.0, decode_blocks=30.0),),
    )
    (unknown,) = verdicts(LoadDetector(LoadSettings()), [bare])
    assert unknown.regime is None
    assert "prefill_tokens_per_second" in unknown.reason
    by_speed = LoadDetector(LoadSettings(prefill_tokens_per_second=1_000.0))
    assert verdicts(by_speed, [bare])[0].level == pytest.approx(1.0)
    by_blocks = LoadDetector(LoadSettings(kv_blocks=100.0))
    assert verdicts(by_blocks, [bare])[0].level == pytest.approx(0.5)


def test_an_observed_speed_counts_more_than_a_given_one() -> None:
    detector = LoadDetector(LoadSettings(prefill_tokens_per_second=1.0))
    (verdict,) = verdicts(detector, [load_reading(0.25, 0.15)])
    assert verdict.level == pytest.approx(0.5)


def test_while_it_learns_all_is_normal_and_then_the_thresholds_are_known() -> None:
    detector = LoadDetector(LoadSettings(learn_seconds=10.0))
    readings = [load_reading(INTERVAL * i, 0.4) for i in range(60)]
    assert detector.thresholds == {}
    found = verdicts(detector, readings)
    assert {verdict.regime for verdict in found} == {Regime.NORMAL}
    assert "learning" in found[20].reason
    learned = detector.thresholds[Signal.PREFILL_BACKLOG]
    assert learned.transition == pytest.approx(1.2)
    assert learned.saturated == pytest.approx(6.0)


def test_given_thresholds_are_those_in_force() -> None:
    given = Thresholds(transition=1.0, saturated=3.0)
    detector = LoadDetector(LoadSettings(prefill_backlog_seconds=given))
    assert detector.thresholds[Signal.PREFILL_BACKLOG] == given
    (verdict,) = verdicts(detector, [load_reading(0.25, 2.0)])
    assert verdict.level == pytest.approx(1.5)
