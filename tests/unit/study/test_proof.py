"""When a profile is held to be better."""

from pathlib import Path

from dynamo_regime.control import PRESETS
from dynamo_regime.sim import Cluster, RouterSettings
from dynamo_regime.study.statistics import Change, Verdict
from dynamo_regime.study.tuning.objective import Objective
from dynamo_regime.study.tuning.proof import Proof, prove
from tests.unit.sim.runs import conversations


def _change(verdict: Verdict) -> Change:
    return Change(1.0, 0.8, -0.2, None, None, 40, verdict)


def _proof(verdict: Verdict, tuned_miss: float = 1.0) -> Proof:
    change = _change(verdict)
    return Proof({1.0: change}, change, {1.0: (1.0, 0.5)}, {1.0: (tuned_miss, 0.4)})


def test_a_profile_is_better_when_it_is_lower_by_more_than_noise() -> None:
    assert _proof(Verdict.LOWER).is_better
    for verdict in (Verdict.NOISE, Verdict.HIGHER, Verdict.EQUAL, Verdict.TOO_FEW):
        assert not _proof(verdict).is_better


def test_a_profile_that_misses_a_limit_by_more_than_the_default_is_not_better() -> None:
    assert not _proof(Verdict.LOWER, tuned_miss=1.2).is_better


def test_a_profile_that_is_the_default_is_equal_and_so_not_better(tmp_path: Path) -> None:
    proof = prove(
        PRESETS["static"],
        conversations(60, 1.0),
        Cluster.parse("2"),
        RouterSettings(),
        Objective(),
        tmp_path,
        speeds=(1.0, 4.0),
    )
    assert {change.verdict for change in proof.by_speed.values() if change} == {Verdict.EQUAL}
    assert proof.overall is not None
    assert proof.overall.verdict is Verdict.EQUAL
    assert not proof.is_better
