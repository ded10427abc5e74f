"""The controller, driven by readings of a backlog: .05 s is calm, 1 s is busy, 10 s saturated."""

from collections.abc import Iterable

import pytest

from dynamo_regime.control import PRESETS, Controller, EventKind, Mode, Profile, Regime, Step
from dynamo_regime.control.detectors import PaperSettings
from dynamo_regime.control.profile import Knot, PoolProfile
from dynamo_regime.control.settings import RegimeSettings
from dynamo_regime.target import PoolPolicy
from tests.unit.control.detectors.driving import load_reading

INTERVAL = 0.25
CALM, BUSY, SATURATED = 0.05, 1.0, 10.0
AT_START = PoolPolicy("prefill", "R", temperature=0.0, prefill_weight=1.0, version=1)


class Router:
    """Carries out what a controller proposes."""

    def __init__(self, *policies: PoolPolicy) -> None:
        self.policies = list(policies or (AT_START,))
        self.deaf = False

    def follow(self, step: Step) -> None:
        for swap in step.swaps:
            for index, policy in enumerate(self.policies):
                if (policy.pool, policy.instance) == (swap.pool, swap.instance) and not self.deaf:
                    self.policies[index] = PoolPolicy(
                        policy.pool,
                        policy.instance,
                        swap.temperature,
                        swap.prefill_weight,
                        policy.version + 1,
                    )

    def pair(self) -> tuple[float, float]:
        return self.policies[0].temperature, self.policies[0].prefill_weight


class Drive:
    """A controller, a router and a clock."""

    def __init__(
        self, mode: Mode = Mode.ACT, profile: Profile = PRESETS["paper"], **options: object
    ) -> None:
        regime = RegimeSettings.model_validate(options)
        self.controller = Controller(mode=mode, profile=profile, regime=regime)
        self.router = Router()
        self.time = 0.0

    def see(self, backlogs: Iterable[float | None]) -> list[Step]:
        steps = []
        for backlog in backlogs:
            self.time += INTERVAL
            reading = None if backlog is None else load_reading(self.time, backlog)
            step = self.controller.step(self.time, reading, self.router.policies)
            self.router.follow(step)
            steps.append(step)
        return steps


def kinds(steps: Iterable[Step]) -> list[EventKind]:
    return [event.kind for step in steps for event in step.events]


def test_it_swaps_what_the_profile_says_when_the_load_rises_and_falls() -> None:
    drive = Drive()
    assert not any(step.swaps for step in drive.see([CALM] * 40))
    steps = drive.see([BUSY] * 40)
    assert drive.router.pair() == (0.7, 1.0)
    assert [len(step.swaps) for step in steps if step.transition] == [1]
    drive.see([SATURATED] * 80)
    assert drive.router.pair() == (0.8, 0.1)
    drive.see([CALM] * 80)
    assert drive.router.pair() == (0.0, 1.0)
    assert drive.router.policies[0].version == 5


def test_a_transition_is_an_event_with_its_readings_and_its_reason() -> None:
    drive = Drive()
    steps = drive.see([CALM] * 40 + [BUSY] * 10)
    (event,) = (
        event for step in steps for event in step.events if event.kind is EventKind.TRANSITION
    )
    assert event.transition is not None
    assert event.transition.after is Regime.TRANSITION
    assert "prefill backlog 1 s" in event.reason
    assert event.readings[-1].time == event.time
    assert [each.prefill_tokens_mean for each in event.readings][-3:] == [1_000.0] * 3


def test_every_pool_gets_its_own_settings() -> None:
    default = PRESETS["paper"].pools["default"]
    static = PRESETS["static"].pools["default"]
    profile = Profile(name="x", pools={"prefill": default, "decode": static})
    drive = Drive(profile=profile)
    drive.router = Router(
        AT_START,
        PoolPolicy("decode", "D", 0.0, 1.0, 1),
        PoolPolicy("encode", "E", 0.3, 3.0, 1),
    )
    drive.see([BUSY] * 40)
    pairs = [(each.temperature, each.prefill_weight) for each in drive.router.policies]
    assert pairs == [(0.7, 1.0), (0.0, 1.0), (0.3, 3.0)]


def test_a_swap_that_failed_is_proposed_again() -> None:
    drive = Drive()
    drive.router.deaf = True
    steps = drive.see([BUSY] * 40)
    assert sum(bool(step.swaps) for step in steps) > 10
    drive.router.deaf = False
    drive.see([BUSY])
    assert drive.router.pair() == (0.7, 1.0)


def test_a_swap_that_fails_again_and_again_is_one_event() -> None:
    drive = Drive(profile=PRESETS["measured"])
    drive.see([CALM])
    drive.router.deaf = True
    steps = drive.see([SATURATED] * 200)
    assert sum(len(step.swaps) for step in steps) > 100
    transitions = kinds(steps).count(EventKind.TRANSITION)
    assert kinds(steps).count(EventKind.SWAP) == transitions == 2


def test_before_the_first_telling_reading_nothing_is_changed() -> None:
    drive = Drive(profile=PRESETS["measured"])
    steps = drive.see([None] * 20)
    assert not any(step.swaps for step in steps)
    assert steps[-1].reason.startswith("nothing is known of the load yet")
    [step] = drive.see([CALM])
    assert [swap.prefill_weight for swap in step.swaps] == [2.0]


def test_shadow_changes_nothing_and_says_once_what_it_would_have_swapped() -> None:
    drive = Drive(mode=Mode.SHADOW)
    steps = drive.see([CALM] * 40 + [BUSY] * 40 + [CALM] * 40)
    assert drive.router.policies == [AT_START]
    would = [swap for step in steps for swap in step.shadow_swaps]
    assert [(swap.temperature_before, swap.temperature) for swap in would] == [
        (0.0, 0.7),
        (0.7, 0.0),
    ]
    assert kinds(steps).count(EventKind.SHADOW_SWAP) == 2
    assert EventKind.SWAP not in kinds(steps)
    assert all(swap.prediction.startswith("no prediction") for swap in would)


def test_off_does_nothing_at_all() -> None:
    drive = Drive(mode=Mode.OFF)
    steps = drive.see([SATURATED] * 100)
    assert all(step.verdict is None and not step.events for step in steps)
    assert drive.router.policies == [AT_START]


def test_an_overridden_pool_is_left_alone_until_its_time_is_over() -> None:
    drive = Drive()
    drive.see([CALM] * 4)
    drive.controller.override(drive.time, 10.0, "prefill")
    mine = PoolPolicy("prefill", "R", 0.1, 5.0, 2)
    drive.router.policies = [mine]
    steps = drive.see([BUSY] * 39)
    assert drive.router.policies == [mine]
    assert EventKind.TRANSITION in kinds(steps)  # it goes on watching
    assert drive.controller.overrides == {"prefill": pytest.approx(0.25)}
    (last,) = drive.see([BUSY])
    assert kinds([last])[0] is EventKind.OVERRIDE_END
    assert drive.router.pair() == (0.7, 1.0)


def test_an_override_can_be_released() -> None:
    drive = Drive()
    drive.see([CALM])
    drive.controller.override(drive.time, 600.0)
    steps = drive.see([BUSY] * 40)
    assert drive.router.policies == [AT_START]
    assert drive.controller.release(drive.time)
    assert not drive.controller.release(drive.time)
    steps = drive.see([BUSY])
    assert kinds(steps) == [EventKind.OVERRIDE_END, EventKind.SWAP]
    assert drive.router.pair() == (0.7, 1.0)


def test_without_readings_the_regime_is_kept_and_then_the_safe_policy_is_used() -> None:
    drive = Drive(absence_deadline_seconds=10.0)
    drive.see([BUSY] * 40)
    drive.see([None] * 39)
    assert drive.router.pair() == (0.7, 1.0)
    (step,) = drive.see([None])
    assert step.fallen_back
    assert drive.router.pair() == (0.0, 1.0)
    drive.see([BUSY] * 40)
    assert drive.router.pair() == (0.7, 1.0)


def test_a_load_that_swings_faster_than_the_dwell_makes_no_more_swaps_than_the_bound() -> None:
    drive = Drive(min_dwell_seconds=10.0)
    steps = drive.see(([BUSY] * 8 + [CALM] * 8) * 30)  # 120 s, 60 swings
    swaps = sum(len(step.swaps) for step in steps)
    assert 6 <= swaps <= 1 + 12


def test_the_same_reading_again_is_no_reading() -> None:
    drive = Drive(absence_deadline_seconds=10.0)
    drive.see([BUSY] * 40)
    stuck = load_reading(drive.time, BUSY)
    for _ in range(44):
        drive.time += INTERVAL
        step = drive.controller.step(drive.time, stuck, drive.router.policies)
    assert step.fallen_back
    assert step.verdict is None


def test_a_profile_by_load_is_followed_in_steps_no_faster_than_the_dwell() -> None:
    knots = (
        Knot(load=0.0, temperature=0.0, prefill_weight=10.0),
        Knot(load=3.0, temperature=0.0, prefill_weight=0.1),
    )
    profile = Profile(name="x", pools={"default": PoolProfile(load_index=knots)})
    drive = Drive(profile=profile, min_dwell_seconds=5.0)
    drive.see([CALM] * 40)
    ramp = [0.05 + 0.01 * index for index in range(240)]  # to 2.45 s in a minute
    steps = drive.see(ramp)
    swaps = [swap for step in steps for swap in step.swaps]
    weights = [swap.prefill_weight for swap in swaps]
    assert weights == sorted(weights, reverse=True)
    # A minute has 12 dwells; each transition may come in between.
    transitions = sum(step.transition is not None for step in steps)
    assert 8 <= len(swaps) <= 13 + transitions


def test_noise_within_the_deadband_makes_no_swap() -> None:
    knots = (
        Knot(load=0.0, temperature=0.0, prefill_weight=10.0),
        Knot(load=3.0, temperature=0.0, prefill_weight=0.1),
    )
    drive = Drive(profile=Profile(name="x", pools={"default": PoolProfile(load_index=knots)}))
    drive.see([CALM] * 40)
    steps = drive.see([0.05, 0.052, 0.048] * 100)
    assert not any(step.swaps for step in steps)


def test_the_profile_brings_the_detector_and_the_settings_replace_it() -> None:
    paper = PaperSettings(kind="paper", preset="70B")
    profile = PRESETS["paper"].model_copy(update={"detector": paper})
    assert Controller(mode=Mode.ACT, profile=profile).reading_interval_seconds == 5.0
    assert Controller(mode=Mode.ACT, profile=PRESETS["paper"]).reading_interval_seconds == 0.25


def test_the_quality_of_a_transition_is_reported_when_the_next_one_comes() -> None:
    drive = Drive()
    steps = drive.see([CALM] * 40 + [BUSY] * 80 + [CALM] * 40)
    (event,) = (event for step in steps for event in step.events if event.kind is EventKind.QUALITY)
    assert event.quality is not None
    assert event.quality.transition.after is Regime.TRANSITION
    assert event.quality.detect_seconds is not None
    assert event.quality.detect_seconds <= 2.0
