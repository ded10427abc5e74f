"""What a controller in a fleet decides by, follows and proposes; and the loop that does it."""

from dataclasses import replace

import pytest

from dynamo_regime.control.fleet.participation import SETTLING_SECONDS, Participation
from dynamo_regime.control.orders import Orders
from dynamo_regime.control.profile import Setting
from dynamo_regime.control.reading import Reading
from dynamo_regime.control.settings import Mode
from dynamo_regime.control.verdict import Regime
from tests.unit.admin.two_pools import START, TwoPools
from tests.unit.control.fleet.fake_fleet import FakeFleet, policy
from tests.unit.control.live_parts import Rig, ScriptedSource, rig
from tests.unit.control.test_live import Stubborn

OWN, ALL = Reading(1.0, 5.0, decision_rate=1.0), Reading(2.0, 5.0, decision_rate=3.0)
DECIDED = Orders({"prefill": Setting(temperature=0, prefill_weight=2)}, Regime.NORMAL, "quiet")


def test_it_reports_its_own_reading_and_decides_by_that_of_all() -> None:
    fleet = FakeFleet(merged=ALL)
    assert Participation(fleet).reading(0.0, OWN) is ALL
    assert fleet.reported == [OWN]


def test_readings_that_are_of_all_already_are_not_added_up() -> None:
    fleet = FakeFleet(merged=ALL)
    assert Participation(fleet, readings_are_of_all=True).reading(0.0, OWN) is OWN


def test_out_of_reach_it_watches_by_its_own_reading_and_keeps_following_the_last_policy() -> None:
    fleet = FakeFleet(policy=policy(7, 0.3))
    one = Participation(fleet)
    assert one.reading(0.0, OWN) is OWN
    orders = one.orders()
    assert orders.settings == {"prefill": Setting(temperature=0.0, prefill_weight=0.3)}
    assert orders.regime is Regime.SATURATED
    assert orders.reason == "version 7 of the fleet (frontend-b): much to do"


def test_before_the_first_policy_there_is_nothing_to_follow() -> None:
    assert Participation(FakeFleet(merged=ALL)).orders().settings == {}


def test_it_proposes_only_once_it_has_watched_the_fleet_for_a_while_without_a_break() -> None:
    fleet = FakeFleet(merged=ALL, is_decider=True)
    one = Participation(fleet)
    one.propose(0.0, DECIDED)
    one.reading(0.0, OWN)
    one.propose(SETTLING_SECONDS - 0.1, DECIDED)
    fleet.merged = None
    one.reading(9.0, OWN)
    fleet.merged = ALL
    one.reading(9.5, OWN)
    one.propose(9.5 + SETTLING_SECONDS - 0.1, DECIDED)
    assert fleet.proposed == []
    one.propose(9.5 + SETTLING_SECONDS, DECIDED)
    [proposed] = fleet.proposed
    assert (proposed.regime, proposed.reason) == ("normal", "quiet")
    assert [(each.pool, each.prefill_weight) for each in proposed.pools] == [("prefill", 2.0)]


def test_a_controller_that_would_set_nothing_proposes_nothing() -> None:
    fleet = FakeFleet(merged=ALL, is_decider=True)
    one = Participation(fleet)
    one.reading(0.0, OWN)
    one.propose(SETTLING_SECONDS, replace(DECIDED, settings={}))
    assert fleet.proposed == []


def test_a_regime_of_a_newer_version_is_none_that_a_prediction_can_be_made_for() -> None:
    newer = policy(1, 1.0)
    decision = newer.decision.model_copy(update={"regime": "frantic"})
    one = Participation(FakeFleet(policy=newer.model_copy(update={"decision": decision})))
    assert one.orders().regime is None


def busy(time: float, backlog_seconds: float) -> Reading:
    source = ScriptedSource(backlog_seconds=backlog_seconds)
    return source.read(time)


def run(one: Rig, fleet: FakeFleet, seconds: float, backlog_seconds: float) -> None:
    """Rounds in which the fleet as a whole has so much to do, and this frontend nothing."""
    for _ in range(round(seconds * 4)):
        if fleet.merged is not None:
            fleet.merged = busy(one.clock() + 0.25, backlog_seconds)
        one.run(0.25, backlog_seconds=0.0)


def member(mode: Mode, fleet: FakeFleet, pools: TwoPools | None = None) -> Rig:
    return rig(mode, pools, fleet=Participation(fleet))


def weight(one: Rig, pool: str = "prefill") -> float:
    return next(each.prefill_weight for each in one.pools.policies() if each.pool == pool)


def test_a_member_swaps_to_what_the_fleet_decided_and_to_nothing_else() -> None:
    fleet = FakeFleet(merged=ALL, policy=policy(1, 0.3))
    one = member(Mode.ACT, fleet)
    run(one, fleet, seconds=15, backlog_seconds=0.01)
    assert weight(one) == 0.3
    assert one.pools.policies()[1] == START[1], "a pool that the fleet says nothing of"
    fleet.policy = policy(2, 5.0)
    run(one, fleet, seconds=0.25, backlog_seconds=0.01)
    assert weight(one) == 5.0


def test_the_decider_proposes_by_the_load_of_all_and_follows_only_the_fleet() -> None:
    fleet = FakeFleet(merged=ALL, is_decider=True)
    one = member(Mode.ACT, fleet)
    run(one, fleet, seconds=30, backlog_seconds=30.0)
    assert {each.regime for each in fleet.proposed[-10:]} == {"saturated"}
    assert {each.prefill_weight for each in fleet.proposed[-1].pools} == {0.3}
    assert one.pools.policies() == START, "nothing is in force before the fleet has it"


def test_a_member_out_of_reach_keeps_the_last_policy_whatever_it_sees_itself() -> None:
    fleet = FakeFleet(merged=ALL, policy=policy(3, 0.3))
    one = member(Mode.ACT, fleet)
    run(one, fleet, seconds=5, backlog_seconds=30.0)
    fleet.merged = None
    run(one, fleet, seconds=60, backlog_seconds=0.0)
    assert weight(one) == 0.3
    state = one.live.state()
    assert state.step is not None
    assert state.step.regime is Regime.NORMAL, "it watches on by itself"
    assert not state.step.fallen_back


def test_in_shadow_a_member_swaps_nothing_and_says_once_what_it_would_have() -> None:
    fleet = FakeFleet(merged=ALL, policy=policy(1, 0.3))
    one = member(Mode.SHADOW, fleet)
    run(one, fleet, seconds=5, backlog_seconds=0.01)
    assert one.pools.policies() == START
    [swap] = [each.event for each in one.live.events.after() if each.event.swap is not None]
    assert swap.reason == "version 1 of the fleet (frontend-b): much to do"


def test_a_pool_that_a_person_has_taken_is_left_alone_by_the_fleet_too() -> None:
    fleet = FakeFleet(merged=ALL, policy=policy(1, 0.3))
    one = member(Mode.ACT, fleet)
    one.live.override(10.0, "prefill")
    one.pools.swap(prefill_weight=7.0)
    run(one, fleet, seconds=9, backlog_seconds=0.01)
    assert weight(one) == 7.0
    run(one, fleet, seconds=2, backlog_seconds=0.01)
    assert weight(one) == 0.3


def test_a_swap_that_was_refused_is_made_good_though_the_version_is_the_same() -> None:
    pools = Stubborn()
    fleet = FakeFleet(merged=ALL, policy=policy(1, 0.3))
    one = member(Mode.ACT, fleet, pools)
    run(one, fleet, seconds=1, backlog_seconds=0.01)
    assert pools.policies() == START
    pools.refuses = False
    run(one, fleet, seconds=0.25, backlog_seconds=0.01)
    assert weight(one) == 0.3


def test_the_same_reading_of_the_fleet_is_not_judged_twice_yet_a_new_policy_is_followed() -> None:
    fleet = FakeFleet(merged=ALL, is_decider=True)
    one = member(Mode.ACT, fleet)
    one.run(20.0, backlog_seconds=0.0)
    assert "dynamo_regime_controller_step_seconds_count 1.0" in one.lines()
    assert one.live.state().round_age_seconds == 0.0
    fleet.policy = policy(1, 0.3)
    one.run(0.25, backlog_seconds=0.0)
    assert weight(one) == 0.3
    state = one.live.state()
    assert (state.reading, fleet.proposed) == (ALL, [])


@pytest.mark.parametrize("connected", [True, False])
def test_metrics_tell_how_it_stands_in_the_fleet(connected: bool) -> None:
    fleet = FakeFleet(merged=ALL if connected else None, policy=policy(4, 0.3), is_decider=True)
    lines = member(Mode.ACT, fleet).lines()
    assert f"dynamo_regime_fleet_up {float(connected)}" in lines
    assert "dynamo_regime_fleet_decider 1.0" in lines
    assert "dynamo_regime_fleet_policy_version 4.0" in lines
    assert "dynamo_regime_fleet_members 3.0" in lines
    assert "dynamo_regime_fleet_contact_age_seconds 0.5" in lines
    assert "dynamo_regime_fleet_leases_taken_total 1.0" in lines
    assert not [line for line in rig(Mode.ACT).lines() if "fleet" in line]
