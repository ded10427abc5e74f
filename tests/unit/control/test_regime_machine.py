from collections.abc import Iterable
from itertools import pairwise

import pytest

from dynamo_regime.control import Cause, Regime, RegimeMachine, Transition, Verdict

NORMAL, TRANSITION, SATURATED = Regime
ABSENT = None


def machine(debounce: int = 3, dwell: float = 5.0, deadline: float = 30.0) -> RegimeMachine:
    return RegimeMachine(
        debounce_readings=debounce, min_dwell_seconds=dwell, absence_deadline_seconds=deadline
    )


def drive(
    subject: RegimeMachine, regimes: Iterable[Regime | None], begin: float = 0.0
) -> list[Transition]:
    """One verdict a second."""
    found = []
    for index, regime in enumerate(regimes):
        time = begin + index
        verdict = Verdict(None, regime, 0.0, "as told", since=time)
        transition = subject.step(time, verdict)
        if transition is not None:
            found.append(transition)
    return found


def test_three_verdicts_in_a_row_make_a_transition() -> None:
    (up,) = drive(machine(), [NORMAL, TRANSITION, TRANSITION, TRANSITION])
    assert (up.time, up.before, up.after, up.cause) == (3.0, NORMAL, TRANSITION, Cause.LOAD)
    assert up.reason == "as told"


def test_a_verdict_in_between_begins_the_row_anew() -> None:
    assert drive(machine(), [TRANSITION, TRANSITION, NORMAL] * 10) == []


def test_verdicts_of_different_regimes_on_one_side_are_one_row() -> None:
    (up,) = drive(machine(), [TRANSITION, SATURATED, TRANSITION])
    assert up.after is TRANSITION


def test_a_row_that_turns_to_the_other_side_begins_anew() -> None:
    subject = machine(dwell=1.0)
    drive(subject, [TRANSITION] * 3)
    assert drive(subject, [SATURATED, SATURATED, NORMAL, NORMAL], begin=3.0) == []


def test_saturated_is_reached_and_left_by_way_of_transition() -> None:
    subject = machine(debounce=1)
    up = drive(subject, [SATURATED] * 20)
    assert [(each.before, each.after) for each in up] == [
        (NORMAL, TRANSITION),
        (TRANSITION, SATURATED),
    ]
    down = drive(subject, [NORMAL] * 20, begin=20.0)
    assert [each.after for each in down] == [TRANSITION, NORMAL]


def test_between_two_transitions_lies_the_dwell() -> None:
    found = drive(machine(debounce=1, dwell=5.0), [TRANSITION, NORMAL] * 30)
    times = [each.time for each in found]
    assert len(times) > 5
    assert min(b - a for a, b in pairwise(times)) >= 5.0


def test_a_transition_says_since_when_its_row_lasts() -> None:
    (up,) = drive(machine(), [NORMAL, TRANSITION, NORMAL, TRANSITION, TRANSITION, TRANSITION])
    assert up.since == 3.0


def test_verdicts_that_tell_nothing_neither_count_nor_break_the_row() -> None:
    (up,) = drive(machine(), [TRANSITION, ABSENT, TRANSITION, ABSENT, ABSENT, TRANSITION])
    assert up.time == 5.0


def test_absence_keeps_the_regime_and_after_the_deadline_falls_back() -> None:
    subject = machine()
    drive(subject, [TRANSITION] * 3)
    (fallback,) = drive(subject, [ABSENT] * 60, begin=3.0)
    assert fallback.cause is Cause.FALLBACK
    assert fallback.time == 32.0  # 30 s after the last verdict, at 2 s
    assert "30.0 s" in fallback.reason
    assert (subject.regime, subject.fallen_back) == (TRANSITION, True)


def test_a_missing_reading_is_absence_too() -> None:
    subject = machine(deadline=3.0)
    found = [subject.step(float(time), None) for time in range(10)]
    assert [each.cause for each in found if each is not None] == [Cause.FALLBACK]


def test_it_recovers_the_regime_that_it_had_by_as_many_verdicts_as_the_debounce_asks() -> None:
    subject = machine()
    drive(subject, [TRANSITION] * 3)
    drive(subject, [ABSENT] * 40, begin=3.0)
    assert drive(subject, [NORMAL, NORMAL, ABSENT], begin=43.0) == []
    recovery, change = drive(subject, [NORMAL] * 12, begin=46.0)
    assert (recovery.cause, recovery.before, recovery.after) == (
        Cause.RECOVERY,
        TRANSITION,
        TRANSITION,
    )
    assert recovery.time == 48.0
    assert (change.cause, change.after, change.time) == (Cause.LOAD, NORMAL, 53.0)


@pytest.mark.parametrize("back", [-1e9, 0.0])
def test_a_clock_that_is_set_back_lets_no_transition_come_early(back: float) -> None:
    subject = machine(debounce=1, dwell=5.0)
    drive(subject, [TRANSITION], begin=1_000.0)
    (down,) = drive(subject, [NORMAL] * 10, begin=back)
    assert down.time == back + 5.0
