"""Any readings on any clock: nothing is raised, and every policy that is proposed is valid."""

import json
import math

from hypothesis import given
from hypothesis import strategies as st

from dynamo_regime.control import PRESETS, Controller, EventRing, Mode, Profile, Reading, Step
from dynamo_regime.control.detectors import (
    LoadSettings,
    PaperSettings,
    SloSettings,
    Thresholds,
)
from dynamo_regime.control.events import json_line
from dynamo_regime.control.profile import Knot, PoolProfile
from dynamo_regime.control.settings import RegimeSettings
from dynamo_regime.target import PoolPolicy
from tests.property.control.readings import clock, forward_steps, jumps, readings
from tests.unit.control.detectors.driving import load_reading

DWELL = 5.0

Observed = tuple[float, Reading | float | None]

extreme = st.sampled_from([0.0, 5e-324, 0.1, 1.0, 10.0, 1.7976931348623157e308])
curves = st.lists(st.tuples(extreme, extreme), min_size=2, max_size=6).map(
    lambda pairs: Profile(
        name="drawn",
        pools={
            "default": PoolProfile(
                load_index=tuple(
                    Knot(load=float(index), temperature=temperature, prefill_weight=weight)
                    for index, (temperature, weight) in enumerate(pairs)
                )
            )
        },
    )
)
profiles = st.one_of(st.sampled_from(list(PRESETS.values())), curves)
narrow = Thresholds(transition=5e-324, saturated=1e-323)
detectors = st.sampled_from(
    [
        LoadSettings(),
        LoadSettings(learn_seconds=2.0),
        LoadSettings(prefill_backlog_seconds=narrow, prefill_tokens_per_second=1e-300),
        PaperSettings(kind="paper", preset="70B"),
        PaperSettings(kind="paper", ttft_p99_seconds=narrow),
        SloSettings(kind="slo", ttft_p99_seconds=1.0, itl_p99_seconds=0.05),
    ]
)
observations = st.one_of(st.none(), readings, st.sampled_from([0.0, 0.05, 1.0, 30.0]))
"""No reading, a wild one, or a plain one with so many seconds of backlog."""


def runs_of(steps: st.SearchStrategy[float], longest: int) -> st.SearchStrategy[list[Observed]]:
    """Steps of the clock and what is seen after them, the same several times in a row."""
    run = st.tuples(steps, observations, st.integers(1, longest))
    return st.lists(run, max_size=20).map(
        lambda drawn: [(step, seen) for step, seen, times in drawn for _ in range(times)]
    )


def run(controller: Controller, observed: list[Observed]) -> list[tuple[float, Step]]:
    policies = [
        PoolPolicy("prefill", "R", temperature=0.0, prefill_weight=1.0, version=1),
        PoolPolicy("decode", "R", temperature=0.0, prefill_weight=1.0, version=1),
    ]
    ring = EventRing()
    steps = []
    times = clock([step for step, _ in observed])
    for time, (_, seen) in zip(times, observed, strict=True):
        reading = load_reading(time, seen) if isinstance(seen, float) else seen
        step = controller.step(time, reading, policies)
        for swap in (*step.swaps, *step.shadow_swaps):
            assert 0.0 <= swap.temperature < math.inf
            assert 0.0 <= swap.prefill_weight < math.inf
        for swap in step.swaps:
            policies = [
                PoolPolicy(
                    each.pool,
                    each.instance,
                    swap.temperature,
                    swap.prefill_weight,
                    each.version + 1,
                )
                if each.pool == swap.pool
                else each
                for each in policies
            ]
        ring.extend(step.events)
        steps.append((time, step))
    for numbered in ring.after():
        json.loads(json_line(numbered))
    return steps


@given(
    st.sampled_from(Mode),
    profiles,
    detectors,
    runs_of(jumps, longest=8),
)
def test_any_readings_on_any_clock_make_valid_proposals_and_raise_nothing(
    mode: Mode,
    profile: Profile,
    detector: LoadSettings | PaperSettings | SloSettings,
    observed: list[Observed],
) -> None:
    controller = Controller(
        mode=mode,
        profile=profile,
        detector=detector,
        regime=RegimeSettings(debounce_readings=1, absence_deadline_seconds=3.0),
        ttft_limit_seconds=1.0,
    )
    steps = run(controller, observed)
    if mode is not Mode.ACT:
        assert not any(step.swaps for _, step in steps)


@given(profiles, detectors, runs_of(forward_steps, longest=12))
def test_swaps_of_a_pool_keep_the_bound_on_flapping(
    profile: Profile,
    detector: LoadSettings | PaperSettings | SloSettings,
    observed: list[Observed],
) -> None:
    controller = Controller(
        mode=Mode.ACT,
        profile=profile,
        detector=detector,
        regime=RegimeSettings(
            debounce_readings=1, min_dwell_seconds=DWELL, absence_deadline_seconds=3.0
        ),
    )
    steps = run(controller, observed)
    # A profile by load index may be followed once in a dwell besides.
    doubled = 1 if profile.pools["default"].load_index is None else 2
    # The first step may have to set what the profile says at rest.
    swapped = [
        time for time, step in steps[1:] if any(swap.pool == "prefill" for swap in step.swaps)
    ]
    for first in range(len(swapped)):
        for last in range(first, len(swapped)):
            stretch = swapped[last] - swapped[first]
            assert last - first + 1 <= doubled * (1 + math.floor(stretch / DWELL))
