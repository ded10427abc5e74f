"""Three whole controllers with their threads, each with a router of its own, over a real NATS."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from dynamo_regime.control.controller import Controller
from dynamo_regime.control.fleet import participation
from dynamo_regime.control.fleet.fleet import Fleet
from dynamo_regime.control.fleet.nats_settings import NatsSettings
from dynamo_regime.control.fleet.participation import Participation
from dynamo_regime.control.fleet.settings import FleetSettings
from dynamo_regime.control.live import LiveController
from dynamo_regime.control.presets import PRESETS
from dynamo_regime.control.settings import Mode
from tests.integration.fleet.nats_process import NatsProcess
from tests.unit.admin.two_pools import START, TwoPools
from tests.unit.control.live_parts import ScriptedSource

pytestmark = pytest.mark.integration

Wait = Callable[[str, Callable[[], bool]], None]


class Frontend:
    def __init__(self, name: str, url: str, mode: Mode) -> None:
        self.source, self.pools = ScriptedSource(), TwoPools()
        nats = NatsSettings.from_environment({"NATS_SERVER": url})
        self.fleet = Fleet(FleetSettings(), nats, name, time.monotonic)
        self.live = LiveController(
            Controller(mode=mode, profile=PRESETS["measured"]),
            self.source,
            self.pools,
            fleet=Participation(self.fleet),
        )

    def start(self) -> None:
        self.fleet.start()
        self.live.start()

    def stop(self) -> None:
        self.live.stop()
        self.fleet.stop()

    def version(self) -> int:
        policy = self.fleet.status().policy
        return 0 if policy is None else policy.version

    def weight(self, pool: str = "prefill") -> float:
        return next(each.prefill_weight for each in self.pools.policies() if each.pool == pool)


@pytest.fixture
def start(
    nats: NatsProcess, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[str, Mode], Frontend]]:
    monkeypatch.setattr(participation, "SETTLING_SECONDS", 1.0)
    with ExitStack() as stack:

        def begin(name: str, mode: Mode) -> Frontend:
            frontend = Frontend(name, nats.url, mode)
            stack.callback(frontend.stop)
            frontend.start()
            return frontend

        yield begin


def test_the_load_of_one_frontend_swaps_the_policies_of_all_and_a_loss_of_nats_none(
    nats: NatsProcess, start: Callable[[str, Mode], Frontend], wait: Wait
) -> None:
    acting = [start(name, Mode.ACT) for name in "abc"]
    watching = start("d", Mode.SHADOW)
    wait("all are set for little load", lambda: {each.weight() for each in acting} == {2.0})
    acting[0].live.override(600.0, "decode")
    acting[0].pools.swap(prefill_weight=7.0, pool="decode")
    acting[1].source.backlog_seconds = 300.0
    wait("all are set for much load", lambda: {each.weight() for each in acting} == {0.3})
    assert acting[0].weight("decode") == 7.0, "a person has it"

    nats.kill()
    wait("all say so", lambda: not any(each.fleet.status().connected for each in acting))
    acting[1].source.backlog_seconds = 0.0
    seen = [each.live.state() for each in acting]
    wait(
        "each has watched on",
        lambda: all(
            now.live.state().reading != before.reading
            for now, before in zip(acting, seen, strict=True)
        ),
    )
    assert {each.weight() for each in acting} == {0.3}

    nats.start()
    wait("all are set for little load again", lambda: {each.weight() for each in acting} == {2.0})
    assert watching.pools.policies() == START, "in shadow nothing is swapped"
    everybody = [*acting, watching]
    wait("all have one version", lambda: len({each.version() for each in everybody}) == 1)
