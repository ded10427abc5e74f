from dataclasses import replace
from pathlib import Path

import pytest

from dynamo_regime.control.profile import Setting, Workload
from dynamo_regime.control.profile_file import load_profile
from dynamo_regime.control.verdict import Regime
from dynamo_regime.errors import InputError
from dynamo_regime.sim import Cluster, RouterSettings
from dynamo_regime.study.policy import DYNAMO_DEFAULT
from dynamo_regime.study.result import Measures, Result
from dynamo_regime.study.tuning.knots import fitted_profile
from dynamo_regime.study.tuning.objective import Objective
from dynamo_regime.study.tuning.search import Rung, Tried, search, split
from dynamo_regime.study.tuning.tune import Task, tune_profile
from tests.unit.sim.runs import conversations, prompts

_AFFINE = Setting(temperature=0.0, prefill_weight=10.0)
_WORKLOAD = Workload(description="a test")


def _result(ttft: float, *, itl: float = 0.01, rejected: int = 0) -> Result:
    measures = Measures(
        requests=10,
        ttft_mean_seconds=ttft,
        ttft_p99_seconds=3.0 * ttft,
        itl_mean_seconds=itl,
        itl_p99_seconds=2.0 * itl,
    )
    return Result(
        case="a",
        seed=0,
        rejected=rejected,
        cached_fraction=0.0,
        overall=measures,
        segments=(),
        ttft_batches=(ttft, None),
        itl_batches=(itl, itl),
        load_index=None,
        changes=(),
        swaps=0,
        wall_seconds=0.1,
    )


def _rung(speed: float, load: float | None, best: Setting) -> Rung:
    default = Tried(DYNAMO_DEFAULT, (_result(2.0 * speed),))
    winner = default if best == DYNAMO_DEFAULT else Tried(best, (_result(speed),))
    return Rung(speed, winner, load, default, (default, winner))


def test_the_objective_is_mean_ttft_and_so_many_times_the_mean_itl() -> None:
    assert Objective().value(_result(0.5)) == 0.5
    assert Objective(itl_weight=10.0).value(_result(0.5)) == pytest.approx(0.6)
    assert Objective(itl_weight=10.0).batches([_result(0.5), _result(0.7)]) == [
        pytest.approx(0.7),
        None,
    ]


def test_a_limit_that_is_missed_counts_before_the_objective() -> None:
    objective = Objective(ttft_p99_limit_seconds=1.5, itl_p99_limit_seconds=0.1)
    keeps = objective.score([_result(0.5)])
    misses_itl = objective.score([_result(0.1, itl=0.2)])
    assert keeps == (1.0, 0.5)
    assert misses_itl == pytest.approx((4.0, 0.1))
    assert keeps < misses_itl


def test_requests_that_are_refused_make_a_setting_the_worst() -> None:
    assert Objective().score([_result(9.0)]) < Objective().score([_result(0.1, rejected=1)])


def test_a_rung_becomes_a_knot_at_the_load_index_that_was_seen_there() -> None:
    rungs = [_rung(1.0, 0.4, _AFFINE), _rung(3.0, 1.5, DYNAMO_DEFAULT)]
    profile = fitted_profile(rungs, Cluster.parse("1P/2D"), _WORKLOAD)
    assert set(profile.pools) == {"prefill", "decode"}
    pool = profile.pools["prefill"]
    assert pool.at(Regime.NORMAL, 0.4) == _AFFINE
    assert pool.at(Regime.SATURATED, 9.0) == DYNAMO_DEFAULT
    assert 1.0 < pool.at(Regime.NORMAL, 1.0).prefill_weight < 10.0


def test_loads_that_the_detector_cannot_tell_apart_make_one_knot() -> None:
    rungs = [
        _rung(1.0, 0.40, _AFFINE),
        _rung(2.0, 0.41, DYNAMO_DEFAULT),
        _rung(3.0, None, DYNAMO_DEFAULT),
        _rung(4.0, 1.0, DYNAMO_DEFAULT),
    ]
    knots = fitted_profile(rungs, Cluster.parse("4"), _WORKLOAD).pools["aggregated"].load_index
    assert knots is not None
    assert [knot.load for knot in knots] == [0.40, 1.0]


def test_evidence_of_two_settings_in_a_regime_is_of_one_load() -> None:
    rungs = [_rung(1.0, 0.1, _AFFINE), _rung(2.0, 0.6, _AFFINE), _rung(5.0, 2.4, DYNAMO_DEFAULT)]
    evidence = fitted_profile(rungs, Cluster.parse("4"), _WORKLOAD).evidence
    found = [(each.regime, each.prefill_weight, each.value) for each in evidence]
    assert found == [
        (Regime.NORMAL, 10.0, 2.0),
        (Regime.NORMAL, 1.0, 4.0),
        (Regime.SATURATED, 1.0, 10.0),
    ]


def test_the_trace_is_split_into_what_is_tuned_on_and_what_is_not() -> None:
    train, held_out = split(conversations(150, 1.0))
    assert (len(train), len(held_out)) == (100, 50)
    assert held_out.arrival_seconds[0] >= train.arrival_seconds[-1]
    with pytest.raises(InputError, match="need at least 120"):
        split(conversations(119, 1.0))


def test_halving_finds_the_setting_that_trying_all_of_them_finds(tmp_path: Path) -> None:
    # One popular prompt on four workers: the affine setting computes it once, in time.
    trace = prompts([0.5 * i for i in range(40)], blocks=64)
    trace = replace(trace, blocks=trace.blocks % 64)
    settings = [Setting(temperature=0.0, prefill_weight=weight) for weight in (0.0, 1.0, 10.0)]
    rungs = search(
        trace,
        Cluster.parse("4"),
        RouterSettings(),
        Objective(),
        tmp_path,
        speeds=(1.0,),
        settings=settings,
    )
    objective = Objective()
    first_window = {
        each.setting.prefill_weight: objective.score(each.results[:1]) for each in rungs[0].tried
    }
    assert objective.score(rungs[0].best.results[:1]) == min(first_window.values())
    assert len(rungs[0].default.results) == 4
    assert rungs[0].load_index is not None


def _task(speeds: tuple[float, ...] = (1.0, 6.0)) -> Task:
    return Task(
        name="conversation",
        trace=conversations(180, 1.0),
        topology="2",
        cluster=Cluster.parse("2"),
        router=RouterSettings(),
        speeds=speeds,
        objective=Objective(),
    )


def test_what_is_written_is_the_profile_that_was_proved_or_the_default(tmp_path: Path) -> None:
    path = tmp_path / "profile.yaml"
    report = tune_profile(_task(), tmp_path, path)
    profile = load_profile(path)
    note = report.tables[1].notes[0]
    assert (profile.name == "default") == ("the default is kept" in note)
    verdict = report.tables[1].rows[-1][-1]
    assert (verdict == "lower") == (profile.name == "tuned")
    if profile.name == "default":
        settings = {profile.pools["aggregated"].at(regime, 1.0) for regime in Regime}
        assert settings == {DYNAMO_DEFAULT}
    assert profile.workload is not None
    assert profile.workload.requests == 120
    assert profile.evidence


def test_a_ladder_needs_two_loads() -> None:
    with pytest.raises(InputError, match="two speeds or more"):
        _task((1.0,))
    with pytest.raises(InputError, match="above 0"):
        _task((0.0, 1.0))
