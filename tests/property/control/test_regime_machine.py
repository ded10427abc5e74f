"""The bound on flapping, for any verdicts and any clock."""

import math
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from dynamo_regime.control import Regime, RegimeMachine, Transition, Verdict
from tests.property.control.readings import clock, forward_steps, jumps, numbers, set_clocks

plain = st.sampled_from(Regime).map(lambda regime: Verdict(None, regime, 0.0, "plain"))
wild = st.builds(
    Verdict,
    level=st.one_of(st.none(), numbers),
    regime=st.one_of(st.none(), st.sampled_from(Regime)),
    statistic=numbers,
    reason=st.just("wild"),
    since=st.one_of(st.none(), numbers),
)
verdicts = st.one_of(plain, plain, plain, wild, st.none())
dwells = st.sampled_from([1.0, 2.0, 5.0])
debounces = st.integers(1, 3)


def runs_of(
    steps: st.SearchStrategy[float],
) -> st.SearchStrategy[list[tuple[float, Verdict | None]]]:
    return st.lists(st.tuples(steps, verdicts), min_size=20, max_size=80)


def drive(
    dwell: float, debounce: int, times: list[float], drawn: list[Verdict | None]
) -> list[Transition]:
    machine = RegimeMachine(
        debounce_readings=debounce, min_dwell_seconds=dwell, absence_deadline_seconds=3.0
    )
    found = []
    for time, verdict in zip(times, drawn, strict=True):
        before = machine.regime
        transition = machine.step(time, verdict)
        if transition is None:
            assert machine.regime is before
        else:
            assert abs(transition.after.rank - transition.before.rank) <= 1
            assert (transition.before, transition.after) == (before, machine.regime)
            found.append(transition)
    return found


@given(dwells, debounces, runs_of(forward_steps))
def test_in_any_stretch_of_t_seconds_there_are_at_most_1_and_t_over_the_dwell_transitions(
    dwell: float, debounce: int, steps: list[tuple[float, Verdict | None]]
) -> None:
    times = clock([step for step, _ in steps])
    found = drive(dwell, debounce, times, [verdict for _, verdict in steps])
    for first in range(len(found)):
        for last in range(first, len(found)):
            stretch = found[last].time - found[first].time
            assert last - first + 1 <= 1 + math.floor(stretch / dwell)


@given(dwells, debounces, runs_of(set_clocks))
def test_a_clock_that_is_set_lets_no_transition_come_before_the_dwell_has_passed_forward(
    dwell: float, debounce: int, steps: list[tuple[float, Verdict | None]]
) -> None:
    times = clock([step for step, _ in steps])
    forward = [0.0]
    for before, after in pairwise(times):
        forward.append(forward[-1] + max(after - before, 0.0))
    machine = RegimeMachine(
        debounce_readings=debounce, min_dwell_seconds=dwell, absence_deadline_seconds=3.0
    )
    made = [
        passed
        for time, passed, (_, verdict) in zip(times, forward, steps, strict=True)
        if machine.step(time, verdict) is not None
    ]
    for earlier, later in pairwise(made):
        assert later - earlier >= dwell


@given(dwells, debounces, runs_of(jumps))
def test_whatever_the_clock_does_nothing_is_raised_and_the_dwell_is_kept_in_running_time(
    dwell: float, debounce: int, steps: list[tuple[float, Verdict | None]]
) -> None:
    times = clock([step for step, _ in steps])
    found = drive(dwell, debounce, times, [verdict for _, verdict in steps])
    for before, after in pairwise(transition.running_seconds for transition in found):
        assert after - before >= dwell
