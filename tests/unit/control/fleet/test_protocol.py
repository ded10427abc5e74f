"""One or two members, step by step."""

from dynamo_regime.control.fleet.exchange import Slot, Snapshot, WriteLease
from dynamo_regime.control.fleet.protocol import Member
from dynamo_regime.control.fleet.records import FleetDecision, FleetPolicy, PoolSetting, Report
from tests.unit.control.fleet.key_value_server import Server

LEASE_SECONDS = 10.0


def decision(temperature: float, regime: str = "normal", reason: str = "") -> FleetDecision:
    setting = PoolSetting(pool="prefill", temperature=temperature, prefill_weight=1.0)
    return FleetDecision(pools=(setting,), regime=regime, reason=reason)


def member(name: str) -> Member:
    return Member(name, LEASE_SECONDS)


def step(server: Server, *members: Member, time: float) -> None:
    """Let each member report, read the bucket and carry out its writes."""
    for one in members:
        server.report(Report(member=one.name, policy=one.policy, reading=None))
        one.observe(time, server.snapshot())
        while (write := one.next_write(time)) is not None:
            revision = server.write(write)
            if revision is None:
                one.refused(write)
                break
            one.written(time, write, time, revision)


def elected(server: Server, name: str = "a") -> tuple[Member, float]:
    """A member that decides, and the time."""
    one = member(name)
    for time in (0.0, LEASE_SECONDS, LEASE_SECONDS + 1):
        step(server, one, time=time)
    assert one.is_decider(LEASE_SECONDS + 1)
    return one, LEASE_SECONDS + 1


def version_of(one: Member) -> int:
    return one.policy.version if one.policy is not None else 0


def test_a_lease_that_is_not_there_is_founded_and_taken_one_lease_time_later() -> None:
    server, one = Server(), member("a")
    step(server, one, time=0.0)
    step(server, one, time=LEASE_SECONDS - 0.1)
    assert server.lease.value is not None
    assert server.lease.value.holder is None
    step(server, one, time=LEASE_SECONDS)
    assert server.lease.value.holder == "a"


def test_a_new_holder_decides_only_after_it_has_read_the_reports_and_fenced_the_policy() -> None:
    server, one = Server(), member("a")
    step(server, one, time=0.0)
    step(server, one, time=LEASE_SECONDS)
    assert server.lease.value is not None
    assert server.lease.value.holder == "a"
    assert not one.is_decider(LEASE_SECONDS)
    step(server, one, time=LEASE_SECONDS + 1)
    assert one.is_decider(LEASE_SECONDS + 1)
    assert server.policy.value is not None
    assert server.policy.value.fence > 0


def test_a_decision_reaches_every_member_with_the_next_version() -> None:
    server = Server()
    a, time = elected(server)
    b = member("b")
    assert a.propose(time, decision(0.7))
    step(server, a, b, time=time)
    assert a.policy == b.policy
    assert version_of(b) == 1
    assert b.policy is not None
    assert b.policy.decision == decision(0.7)


def test_a_member_that_does_not_decide_cannot_propose() -> None:
    server = Server()
    a, time = elected(server)
    b = member("b")
    step(server, b, time=time)
    assert not b.propose(time, decision(0.7))
    step(server, a, b, time=time)
    assert version_of(a) == 0


def test_the_same_settings_for_another_reason_are_no_new_version() -> None:
    server = Server()
    a, time = elected(server)
    a.propose(time, decision(0.7, reason="first"))
    step(server, a, time=time)
    a.propose(time, decision(0.7, reason="second"))
    step(server, a, time=time)
    assert version_of(a) == 1


def test_a_late_joiner_adopts_the_policy_in_force_at_its_first_look() -> None:
    server = Server()
    a, time = elected(server)
    for value in (0.1, 0.2, 0.3):
        a.propose(time, decision(value))
        step(server, a, time=time)
    late = member("late")
    step(server, late, time=0.0)
    assert late.policy == a.policy
    assert version_of(late) == 3


def test_a_decider_that_renews_keeps_the_lease_from_everybody() -> None:
    server = Server()
    a, time = elected(server)
    b = member("b")
    for _ in range(100):
        time += 1.0
        step(server, a, b, time=time)
        assert a.is_decider(time)
        assert not b.is_decider(time)


def test_a_silent_decider_is_succeeded_one_lease_time_after_its_last_renewal_was_seen() -> None:
    server = Server()
    a, time = elected(server)
    b = member("b")
    step(server, b, time=time)
    step(server, b, time=time + LEASE_SECONDS - 0.1)
    assert server.lease.value is not None
    assert server.lease.value.holder == "a"
    step(server, b, time=time + LEASE_SECONDS)
    step(server, b, time=time + LEASE_SECONDS)
    assert b.is_decider(time + LEASE_SECONDS)
    assert not a.is_decider(time + LEASE_SECONDS)


def test_wall_clocks_do_not_matter() -> None:
    server = Server()
    a, time = elected(server)
    b = member("b")  # whose clock is a million seconds ahead
    for _ in range(100):
        time += 1.0
        step(server, a, time=time)
        step(server, b, time=time + 1e6)
    assert a.is_decider(time)


def test_a_released_lease_is_taken_at_once() -> None:
    server = Server()
    a, time = elected(server)
    b = member("b")
    step(server, b, time=time)
    release = a.release()
    assert release is not None
    assert server.write(release) is not None
    step(server, b, time=time)
    step(server, b, time=time)
    assert b.is_decider(time)
    assert not a.is_decider(time)


def test_a_deposed_decider_cannot_write_over_its_successor() -> None:
    server = Server()
    a, time = elected(server)
    a.propose(time, decision(0.1))
    step(server, a, time=time)
    b = member("b")
    step(server, b, time=time)
    a.propose(time, decision(0.9))
    late_write = a.next_write(time)  # a is stopped right here
    assert late_write is not None
    time += LEASE_SECONDS
    step(server, b, time=time)
    step(server, b, time=time)  # b has decided nothing new: its fence alone must hold a off
    assert b.is_decider(time)
    assert server.write(late_write) is None
    a.refused(late_write)
    step(server, a, time=time)
    assert not a.is_decider(time)
    assert version_of(a) == version_of(b) == 1


def test_a_decider_that_cannot_renew_stops_deciding_well_before_its_lease_is_over() -> None:
    server = Server()
    a, time = elected(server)  # the last renewal was sent one second ago
    a.observe(time, server.snapshot())
    assert a.is_decider(time - 1 + 0.79 * LEASE_SECONDS)
    assert not a.is_decider(time - 1 + 0.8 * LEASE_SECONDS)


def test_a_lost_acknowledgement_of_the_lease_is_made_good_by_a_renewal() -> None:
    server, a = Server(), member("a")
    step(server, a, time=0.0)
    a.observe(LEASE_SECONDS, server.snapshot())
    write = a.next_write(LEASE_SECONDS)
    assert write is not None
    server.write(write)
    a.lost("no acknowledgement")
    time = LEASE_SECONDS + 1
    a.observe(time, server.snapshot())
    assert isinstance(a.next_write(time), WriteLease)
    step(server, a, time=time)
    step(server, a, time=time)
    assert a.is_decider(time)


def test_a_lost_acknowledgement_of_a_policy_is_made_good_by_reading_it() -> None:
    server = Server()
    a, time = elected(server)
    a.propose(time, decision(0.4))
    write = a.next_write(time)
    assert write is not None
    server.write(write)
    a.lost("no acknowledgement")
    step(server, a, time=time)
    assert version_of(a) == 1
    assert server.policy.value is not None
    assert server.policy.value.version == 1


def test_contact_lost_keeps_the_policy_and_is_said() -> None:
    server = Server()
    a, time = elected(server)
    a.propose(time, decision(0.4))
    step(server, a, time=time)
    a.lost("NATS does not answer")
    status = a.status(time)
    assert (status.connected, status.reason) == (False, "NATS does not answer")
    assert status.policy is not None
    assert status.policy.version == 1
    step(server, a, time=time)
    assert a.status(time).connected


def test_a_bucket_that_is_read_no_more_is_said_even_if_no_error_came() -> None:
    server = Server()
    a, time = elected(server)
    assert a.status(time + LEASE_SECONDS - 0.1).connected
    status = a.status(time + LEASE_SECONDS)
    assert not status.connected
    assert status.reason == "the bucket has not been read for 10.0 s"


def test_after_the_bucket_was_emptied_versions_go_on_above_the_highest_any_member_has() -> None:
    server = Server()
    a, time = elected(server)
    for value in (0.1, 0.2, 0.3):
        a.propose(time, decision(value))
        step(server, a, time=time)
    b = member("b")
    step(server, b, time=time)
    server.lose_everything()
    newcomer = member("newcomer")
    for _ in range(30):
        time += 1.0
        step(server, newcomer, b, time=time)  # a has gone for good
    assert newcomer.is_decider(time)
    assert b.policy == newcomer.policy
    assert version_of(b) == 4
    assert b.policy is not None
    assert b.policy.decision == decision(0.3)


def test_two_policies_of_one_version_are_followed_by_one_that_all_adopt() -> None:
    server = Server()
    a, time = elected(server)
    ahead, behind, newcomer = member("ahead"), member("behind"), member("newcomer")
    a.propose(time, decision(0.1))
    step(server, a, ahead, behind, time=time)
    a.propose(time, decision(0.2))
    step(server, a, ahead, time=time)
    server.lose_everything()
    for _ in range(12):  # without a, which has gone for good, and ahead, which cannot be heard
        time += 1.0
        step(server, newcomer, behind, time=time)
    assert version_of(behind) == version_of(ahead) == 2
    assert behind.policy != ahead.policy
    step(server, ahead, newcomer, ahead, behind, time=time)
    assert version_of(ahead) == 3
    assert ahead.policy == behind.policy == newcomer.policy
    step(server, ahead, newcomer, behind, time=time)
    assert version_of(newcomer) == 3, "and that is the end of it"


def test_a_restored_older_bucket_does_not_take_a_member_back() -> None:
    one = member("a")
    newer, older = (
        FleetPolicy(version=version, fence=1, decider="x", decision=decision(version / 10))
        for version in (5, 3)
    )
    for revision, policy in ((9, newer), (4, older)):
        one.observe(0.0, Snapshot(Slot(revision, policy), Slot(0, None), {}))
        assert version_of(one) == 5


def test_after_a_bucket_was_restored_versions_go_on_above_the_highest_any_member_has() -> None:
    server = Server()
    a, time = elected(server)
    backup = server.policy
    for value in (0.1, 0.2, 0.3):
        a.propose(time, decision(value))
        step(server, a, time=time)
        backup = server.policy if version_of(a) == 1 else backup
    server.policy = backup
    b = member("b")
    step(server, a, b, time=time)
    assert server.policy.value is not None
    assert server.policy.value.version == 4
    assert version_of(a) == version_of(b) == 4
    assert server.policy.value.decision == decision(0.3)


def test_a_lease_key_that_was_deleted_by_hand_is_founded_anew_at_its_marker() -> None:
    one = member("a")
    one.observe(0.0, Snapshot(Slot(0, None), Slot(7, None), {}))
    write = one.next_write(0.0)
    assert isinstance(write, WriteLease)
    assert write.replaces == 7
    assert write.lease.holder is None
