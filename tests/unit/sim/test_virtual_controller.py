"""The live controller in virtual time."""

from collections.abc import Sequence

import numpy as np
import pytest

from dynamo_regime.control import PRESETS, Controller, EventKind, Mode, Reading
from dynamo_regime.control.controller import Step
from dynamo_regime.control.detectors import PaperSettings
from dynamo_regime.control.orders import Orders
from dynamo_regime.sim import Cluster, Outcome, RouterSettings, Simulation, simulate
from dynamo_regime.target import PoolPolicy
from tests.unit.sim.runs import conversations

_OVERLOAD = Simulation(Cluster.parse("2"), RouterSettings(), conversations(300, 6.0))


class _Recording(Controller):
    """Keeps what it is given."""

    def __init__(self, mode: Mode, detector: PaperSettings | None = None) -> None:
        super().__init__(mode=mode, profile=PRESETS["measured"], detector=detector)
        self.readings: list[Reading] = []
        self.policies: list[list[PoolPolicy]] = []

    def step(
        self,
        time: float,
        reading: Reading | None,
        current: Sequence[PoolPolicy],
        orders: Orders | None = None,
    ) -> Step:
        assert reading is not None
        assert reading.time == time
        self.readings.append(reading)
        self.policies.append(list(current))
        return super().step(time, reading, current, orders)


def _policies(outcome: Outcome) -> list[tuple[float, float]]:
    return [(at.time_seconds, at.policy.prefill_weight) for at in outcome.policies]


def test_an_overload_is_found_and_the_policy_swapped_as_the_profile_says() -> None:
    controller = _Recording(Mode.ACT)
    outcome = simulate(_OVERLOAD, controller=controller)
    regimes = [
        (event.transition.after.value, event.time)
        for event in outcome.events
        if event.transition is not None
    ]
    assert [regime for regime, _ in regimes[:2]] == ["transition", "saturated"]
    swaps = [
        (event.time, event.swap.prefill_weight)
        for event in outcome.events
        if event.kind is EventKind.SWAP and event.swap is not None
    ]
    # The preset `measured`: ω is 2 in the normal regime, 1 in transition, .3 in the saturated one.
    assert [weight for _, weight in swaps[:3]] == [2.0, 1.0, 0.3]
    assert [time for time, _ in swaps[1:3]] == [time for _, time in regimes[:2]]
    assert _policies(outcome) == [(0.0, 1.0), *swaps]


def test_a_swap_holds_for_the_next_reading() -> None:
    controller = _Recording(Mode.ACT)
    simulate(_OVERLOAD, controller=controller)
    first, second = (policies[0].prefill_weight for policies in controller.policies[:2])
    assert (first, second) == (1.0, 2.0)


def test_in_shadow_the_run_is_the_one_without_a_controller() -> None:
    outcome, alone = simulate(_OVERLOAD, controller=_Recording(Mode.SHADOW)), simulate(_OVERLOAD)
    for name, column in outcome.requests.to_dict().items():
        np.testing.assert_array_equal(column, getattr(alone.requests, name))
    assert _policies(outcome) == [(0.0, 1.0)]
    assert any(event.kind is EventKind.SHADOW_SWAP for event in outcome.events)


def test_the_same_run_has_the_same_events() -> None:
    runs = [simulate(_OVERLOAD, controller=_Recording(Mode.ACT)) for _ in range(2)]
    assert runs[0].events == runs[1].events


@pytest.mark.parametrize(
    ("detector", "interval"),
    [(None, 0.25), (PaperSettings.model_validate({"kind": "paper", "preset": "70B"}), 5.0)],
)
def test_readings_come_at_the_detectors_pace(
    detector: PaperSettings | None, interval: float
) -> None:
    controller = _Recording(Mode.SHADOW, detector)
    simulate(_OVERLOAD, controller=controller)
    times = np.array([reading.time for reading in controller.readings])
    np.testing.assert_allclose(np.diff(times), interval)


def test_a_reading_says_what_the_requests_say() -> None:
    controller = _Recording(Mode.SHADOW)
    requests = simulate(_OVERLOAD, controller=controller).requests
    reading = next(reading for reading in controller.readings if reading.time == 10.0)
    arrivals = requests.arrival_seconds
    first_tokens = arrivals + requests.ttft_seconds
    ends = arrivals + requests.latency_seconds
    begin = reading.time - reading.window
    assert reading.window == 5.0

    within = requests.ttft_seconds[(first_tokens > begin) & (first_tokens <= reading.time)]
    assert reading.ttft is not None
    assert reading.ttft.count == within.size >= 20
    p99 = np.quantile(within, 0.99, method="inverted_cdf")
    assert reading.ttft.p99 is not None
    assert reading.ttft.p99.value_seconds == pytest.approx(p99)

    assert reading.itl is not None
    assert reading.itl.count == np.count_nonzero((ends > begin) & (ends <= reading.time))
    # What comes at the very moment of a reading is in the next one.
    arrived = np.count_nonzero((arrivals >= begin) & (arrivals < reading.time))
    assert reading.decision_rate == pytest.approx(arrived / 5.0)

    assert reading.workers is not None
    in_flight = (arrivals < reading.time) & (ends > reading.time)
    for load in reading.workers:
        mine = in_flight & (requests.decode_worker == load.worker_id)
        assert load.pool == "aggregated"
        assert load.active_requests == np.count_nonzero(mine)
        assert load.kv_blocks == 16384


def test_the_prefill_speed_is_that_of_the_engine() -> None:
    controller = _Recording(Mode.SHADOW)
    requests = simulate(_OVERLOAD, controller=controller).requests
    speed = controller.readings[-1].prefill_tokens_per_second
    # No prefill is faster than one that had the worker to itself, nor is the estimate of any use
    # if it is far below.
    alone = requests.input_tokens[0] / requests.ttft_seconds[0]
    assert speed is not None
    assert 0.3 * alone < speed < 1.2 * alone
