"""Members whose reads, writes and acknowledgements interleave, get lost and arrive late at will."""

from collections.abc import Generator
from dataclasses import dataclass, field, replace

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from dynamo_regime.control.fleet.exchange import WriteLease, WritePolicy
from dynamo_regime.control.fleet.protocol import Member
from dynamo_regime.control.fleet.records import FleetDecision, PoolSetting, Report
from tests.unit.control.fleet.key_value_server import Server

LEASE_SECONDS = 3.0
MEMBERS = 3

# What becomes of a write: it arrives; it is lost; its acknowledgement is lost; it arrives later.
FATES = ("arrives", "arrives", "arrives", "lost", "unacknowledged", "late")


@dataclass
class Actor:
    """A member on a machine of its own: its clock, and the cycle that it is in the middle of."""

    member: Member
    clock_offset: float
    clock_rate: float
    cycle: Generator[None, str, None] | None = None
    versions: list[int] = field(default_factory=list)


class Fleet(RuleBasedStateMachine):
    loses_data = False

    def __init__(self) -> None:
        super().__init__()
        self.server = Server()
        self.server_is_up = True
        self.now = 0.0
        self.actors: list[Actor] = []
        self.late: list[WriteLease | WritePolicy] = []
        self.decisions: dict[int, FleetDecision] = {}
        self.names = 0

    @initialize(
        clocks=st.lists(
            st.tuples(st.floats(-1e6, 1e6), st.floats(0.95, 1.05)),
            min_size=MEMBERS,
            max_size=MEMBERS,
        )
    )
    def join(self, clocks: list[tuple[float, float]]) -> None:
        self.actors = [Actor(self.new_member(), offset, rate) for offset, rate in clocks]
        self.the_fleet_goes_on_undisturbed(rounds=10)
        for who in range(MEMBERS):
            self.propose(who, temperature=0.5)
        self.the_fleet_goes_on_undisturbed(rounds=1)

    def new_member(self) -> Member:
        self.names += 1
        return Member(f"m{self.names}", LEASE_SECONDS)

    def time(self, actor: Actor) -> float:
        return actor.clock_offset + actor.clock_rate * self.now

    def run(self, actor: Actor) -> Generator[None, str, None]:
        """One cycle of the driver; at every yield the rest of the world may go on."""
        member = actor.member
        if not self.server_is_up:
            member.lost("down")
            return
        self.server.report(Report(member=member.name, policy=member.policy, reading=None))
        snapshot = self.server.snapshot()
        yield
        member.observe(self.time(actor), snapshot)
        self.note(actor)
        while (write := member.next_write(self.time(actor))) is not None:
            sent_at = self.time(actor)
            fate = yield
            if fate == "late":
                self.late.append(write)
            if not self.server_is_up or fate in ("lost", "late"):
                yield
                member.lost("no answer")
                return
            revision = self.deliver(write)
            yield
            if fate == "unacknowledged":
                member.lost("no answer")
                return
            if revision is None:
                member.refused(write)
                return
            member.written(self.time(actor), write, sent_at, revision)
            self.note(actor)

    def deliver(self, write: WriteLease | WritePolicy) -> int | None:
        """A write comes to the server; no policy is accepted from another than the decider."""
        revision = self.server.write(write)
        if revision is not None and isinstance(write, WritePolicy) and not self.loses_data:
            deciders = [a.member.name for a in self.actors if a.member.is_decider(self.time(a))]
            assert deciders in ([], [write.policy.decider]), "a deposed decider got through"
        return revision

    def note(self, actor: Actor) -> None:
        policy = actor.member.policy
        if policy is None or (actor.versions and actor.versions[-1] == policy.version):
            return
        actor.versions.append(policy.version)
        known = self.decisions.setdefault(policy.version, policy.decision)
        assert self.loses_data or known == policy.decision, "one version, two decisions"

    def resume(self, actor: Actor, fate: str) -> None:
        try:
            if actor.cycle is None:
                actor.cycle = self.run(actor)
                next(actor.cycle)
            else:
                actor.cycle.send(fate)
        except StopIteration:
            actor.cycle = None

    @rule(who=st.integers(0, MEMBERS - 1), fate=st.sampled_from(FATES))
    def hand_the_lease_back(self, who: int, fate: str) -> None:
        actor = self.actors[who]
        if actor.cycle is None and (write := actor.member.release()) is not None:
            if fate == "late":
                self.late.append(write)
            elif fate != "lost" and self.server_is_up:
                self.deliver(write)

    @rule(who=st.integers(0, MEMBERS - 1), fate=st.sampled_from(FATES))
    def go_on(self, who: int, fate: str) -> None:
        self.resume(self.actors[who], fate)

    @rule(who=st.integers(0, MEMBERS - 1), cycles=st.integers(1, 4))
    def go_on_undisturbed(self, who: int, cycles: int) -> None:
        actor = self.actors[who]
        for _ in range(cycles):
            self.resume(actor, "arrives")
            while actor.cycle is not None:
                self.resume(actor, "arrives")

    @rule(rounds=st.integers(1, 10))
    def the_fleet_goes_on_undisturbed(self, rounds: int) -> None:
        for _ in range(rounds):
            for who in range(MEMBERS):
                self.go_on_undisturbed(who, cycles=1)
            self.now += 0.5

    @rule(who=st.integers(0, MEMBERS - 1), rounds=st.integers(1, 16))
    def one_stands_still_and_the_others_go_on(self, who: int, rounds: int) -> None:
        for _ in range(rounds):
            for other in set(range(MEMBERS)) - {who}:
                self.go_on_undisturbed(other, cycles=1)
            self.now += 0.5

    @rule(seconds=st.sampled_from([0.1, 0.5, 1.0, 2.5, 3.5, 10.0]))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds

    @rule(temperature=st.floats(0, 1))
    def everybody_proposes(self, temperature: float) -> None:
        for who in range(MEMBERS):
            self.propose(who, temperature)

    def propose(self, who: int, temperature: float) -> None:
        actor = self.actors[who]
        pool = PoolSetting(pool="prefill", temperature=temperature, prefill_weight=1.0)
        decision = FleetDecision(pools=(pool,), regime=None, reason=actor.member.name)
        actor.member.propose(self.time(actor), decision)

    @rule(who=st.integers(0, MEMBERS - 1))
    def crash_and_restart(self, who: int) -> None:
        self.actors[who].member = self.new_member()
        self.actors[who].cycle = None
        self.actors[who].versions.clear()

    @rule()
    def server_stops_or_starts(self) -> None:
        self.server_is_up = not self.server_is_up

    @precondition(lambda self: self.late and self.server_is_up)
    @rule()
    def a_late_write_arrives(self) -> None:
        self.deliver(self.late.pop(0))

    @invariant()
    def at_most_one_decides(self) -> None:
        deciders = [a.member.name for a in self.actors if a.member.is_decider(self.time(a))]
        assert len(deciders) <= 1, deciders

    @invariant()
    def versions_and_fences_never_fall_in_the_bucket(self) -> None:
        pairs = zip(self.server.history, self.server.history[1:], strict=False)
        for earlier, later in pairs:
            assert later.version >= earlier.version
            assert self.loses_data or later.fence >= earlier.fence
            if later.version == earlier.version:
                assert later.decision == earlier.decision

    @invariant()
    def no_member_goes_back(self) -> None:
        for actor in self.actors:
            assert actor.versions == sorted(set(actor.versions))

    def teardown(self) -> None:
        """Left alone, the fleet has one decider and one policy soon after."""
        self.server_is_up = True
        if self.actors:
            self.the_fleet_goes_on_undisturbed(rounds=20)
            assert sum(a.member.is_decider(self.time(a)) for a in self.actors) == 1
            # The fence may differ: a new holder's is not news to those who have the version.
            policies = [a.member.policy for a in self.actors if a.member.policy is not None]
            assert len({(policy.version, policy.decision) for policy in policies}) <= 1
            assert len(policies) in (0, len(self.actors))
            stored = self.server.policy.value
            assert stored is not None
            assert stored.version == max(a.versions[-1] if a.versions else 0 for a in self.actors)


class ForgetfulFleet(Fleet):
    """The server may also lose its data, with members' late writes still under way to it."""

    loses_data = True

    @rule()
    def the_server_loses_its_data(self) -> None:
        self.server.lose_everything()


class RestoredFleet(ForgetfulFleet):
    """The server may also go back to what it was before, as from a backup."""

    def __init__(self) -> None:
        super().__init__()
        self.backup = Server()

    @rule()
    def a_backup_is_made(self) -> None:
        self.backup = replace(self.server)

    @rule()
    def the_server_is_restored(self) -> None:
        self.server.go_back_to(self.backup)

    def at_most_one_decides(self) -> None:
        """Not here: who held the lease then takes it for its own, until all have looked."""


_SETTINGS = settings(max_examples=120, stateful_step_count=60)

TestFleet = Fleet.TestCase
TestFleet.settings = _SETTINGS
TestForgetfulFleet = ForgetfulFleet.TestCase
TestForgetfulFleet.settings = _SETTINGS
TestRestoredFleet = RestoredFleet.TestCase
TestRestoredFleet.settings = _SETTINGS
