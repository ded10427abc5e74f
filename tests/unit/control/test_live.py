"""The loop around the controller, round by round, and its thread."""

import math
import threading
import time

import pytest

from dynamo_regime import PolicyError, UnknownPoolError
from dynamo_regime.control.controller import Controller
from dynamo_regime.control.live import HUNG_SECONDS, ControllerHungError, LiveController
from dynamo_regime.control.presets import PRESETS
from dynamo_regime.control.settings import Mode
from tests.unit.admin.two_pools import START, TwoPools
from tests.unit.control.live_parts import ScriptedSource, rig


def weights(pools: TwoPools) -> set[float]:
    return {policy.prefill_weight for policy in pools.policies()}


def test_in_act_every_pool_follows_the_profile_through_a_spike() -> None:
    one = rig(Mode.ACT)
    one.run(10, backlog_seconds=0.01)
    assert weights(one.pools) == {2.0}
    one.run(10, backlog_seconds=1.0)
    assert weights(one.pools) == {1.0}
    one.run(10, backlog_seconds=30.0)
    assert weights(one.pools) == {0.3}
    one.run(20, backlog_seconds=0.01)
    assert weights(one.pools) == {2.0}


def test_a_step_of_the_load_is_answered_within_two_seconds() -> None:
    one = rig(Mode.ACT)
    one.run(10, backlog_seconds=0.01)
    one.run(2, backlog_seconds=5.0)
    assert weights(one.pools) == {1.0}
    one.run(10, backlog_seconds=5.0)
    one.run(2, backlog_seconds=0.01)
    assert weights(one.pools) == {1.0}, "one step down from saturated"


def test_shadow_swaps_nothing_and_says_what_it_would_have_done() -> None:
    one = rig(Mode.SHADOW)
    one.run(10, backlog_seconds=0.01)
    one.run(20, backlog_seconds=30.0)
    assert one.pools.policies() == START
    kinds = {each.event.kind for each in one.live.events.after()}
    assert kinds == {"shadow_swap", "transition", "quality"}


def test_an_override_keeps_what_a_person_set_until_it_expires() -> None:
    one = rig(Mode.ACT)
    one.run(1, backlog_seconds=0.01)
    one.live.override(10.0, "prefill")
    one.pools.swap(prefill_weight=7.0)
    one.run(9, backlog_seconds=0.01)
    assert {p.pool: p.prefill_weight for p in one.pools.policies()} == {
        "prefill": 7.0,
        "decode": 2.0,
    }
    assert one.live.state().overrides == {"prefill": pytest.approx(1.0)}
    one.run(2, backlog_seconds=0.01)
    assert weights(one.pools) == {2.0}
    assert one.live.state().overrides == {}


def test_an_override_can_be_ended_and_names_an_unknown_pool() -> None:
    one = rig(Mode.ACT)
    one.live.override(10.0)
    assert one.live.release()
    assert not one.live.release()
    with pytest.raises(UnknownPoolError, match="'encode'; the pools are: decode, prefill"):
        one.live.override(10.0, "encode")
    with pytest.raises(ValueError, match="positive number of seconds"):
        one.live.override(math.nan)


def test_a_round_that_fails_changes_nothing_and_the_next_one_goes_on() -> None:
    one = rig(Mode.ACT)
    one.source.error = RuntimeError("a bug")
    one.run(5, backlog_seconds=0.01)
    state = one.live.state()
    assert (state.step, state.round_age_seconds) == (None, 5.0)
    assert not state.healthy
    assert one.pools.policies() == START
    assert "dynamo_regime_controller_errors_total 20.0" in one.lines()
    one.source.error = None
    one.run(1, backlog_seconds=0.01)
    assert weights(one.pools) == {2.0}
    assert one.live.state().round_age_seconds == 0.0


class Stubborn(TwoPools):
    refuses = True

    def swap(self, **change: object) -> list[object]:  # type: ignore[override]
        if self.refuses:
            raise PolicyError("not now")
        return super().swap(**change)  # type: ignore[arg-type,return-value]


def test_a_swap_that_was_refused_is_made_good_when_it_can_be() -> None:
    pools = Stubborn()
    one = rig(Mode.ACT, pools)
    one.run(1, backlog_seconds=0.01)
    assert pools.policies() == START
    assert 'dynamo_regime_swap_failures_total{pool="prefill"} 4.0' in one.lines()
    swaps = [each for each in one.live.events.after() if each.event.kind == "swap"]
    assert len(swaps) == 2, "one event for each pool, however often it is tried"
    pools.refuses = False
    one.run(1, backlog_seconds=0.01)
    assert weights(pools) == {2.0}


def eventually(holds: object, seconds: float = 10.0) -> bool:
    assert callable(holds)
    until = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


def started(source: ScriptedSource, pools: TwoPools) -> LiveController:
    live = LiveController(Controller(mode=Mode.ACT, profile=PRESETS["measured"]), source, pools)
    live.start()
    return live


def test_its_thread_reads_decides_and_swaps_and_ends() -> None:
    pools = TwoPools()
    live = started(ScriptedSource(), pools)
    try:
        assert eventually(lambda: weights(pools) == {2.0})
        assert live.state().healthy
    finally:
        live.stop()
    assert not live.state().healthy
    assert "dynamo-regime-controller" not in {thread.name for thread in threading.enumerate()}


def test_a_hung_source_is_seen_in_time_and_blocks_neither_looks_nor_overrides() -> None:
    source = ScriptedSource(hangs=True)
    live = started(source, TwoPools())
    try:
        began = time.monotonic()
        assert eventually(lambda: not live.state().healthy)
        assert HUNG_SECONDS <= time.monotonic() - began + 0.1 < 5.0
        live.override(5.0)
        assert live.state().overrides == {None: pytest.approx(5.0)}
    finally:
        source.let_go.set()
        live.stop()


class Hung(TwoPools):
    let_go = threading.Event()

    def swap(self, **_: object) -> list[object]:  # type: ignore[override]
        self.let_go.wait()
        return []


def test_an_override_of_a_controller_that_hangs_in_a_swap_is_refused_in_one_sentence() -> None:
    pools = Hung()
    live = started(ScriptedSource(), pools)
    try:
        assert eventually(lambda: live._lock.locked())
        with pytest.raises(ControllerHungError, match="does not answer"):
            live.override(5.0)
        assert live.state().step is None
    finally:
        pools.let_go.set()
        live.stop()
