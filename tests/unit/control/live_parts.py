"""A live controller whose clock, readings and router belong to the test."""

import threading
from dataclasses import dataclass, field

from dynamo_regime.control.controller import Controller
from dynamo_regime.control.finished_log import FinishedLog
from dynamo_regime.control.fleet.participation import Participation
from dynamo_regime.control.live import LiveController
from dynamo_regime.control.metrics import Metrics
from dynamo_regime.control.presets import PRESETS
from dynamo_regime.control.reading import Reading, WorkerLoad
from dynamo_regime.control.regime import Regime
from dynamo_regime.control.running import Running
from dynamo_regime.control.settings import Mode
from tests.unit.admin.two_pools import TwoPools

SPEED = 1_000.0
BACKLOG_SECONDS = {Regime.NORMAL: 0.0, Regime.TRANSITION: 1.0, Regime.SATURATED: 30.0}


@dataclass
class Clock:
    seconds: float = 100.0

    def __call__(self) -> float:
        return self.seconds


@dataclass
class ScriptedSource:
    """Readings of so much prefill backlog, or an error, or none before it is let go."""

    backlog_seconds: float = 0.0
    problem: str = ""
    error: Exception | None = None
    let_go: threading.Event = field(default_factory=threading.Event)
    hangs: bool = False

    def read(self, time: float) -> Reading:
        if self.hangs:
            self.let_go.wait()
        if self.error is not None:
            raise self.error
        tokens = self.backlog_seconds * SPEED
        workers = tuple(
            WorkerLoad(worker, 0, prefill_tokens=tokens * share, decode_blocks=2.0, pool="prefill")
            for worker, share in ((1, 0.5), (2, 1.5))
        )
        return Reading(time, 5.0, workers=workers, prefill_tokens_per_second=SPEED)


@dataclass
class Rig:
    """All of it; the thread is not started, rounds are the test's."""

    live: LiveController
    metrics: Metrics
    source: ScriptedSource
    pools: TwoPools
    clock: Clock
    finished: FinishedLog = field(default_factory=FinishedLog)

    @property
    def running(self) -> Running:
        return Running(self.live, self.metrics, self.finished)

    def run(self, seconds: float, backlog_seconds: float) -> None:
        """Rounds at the live pace."""
        self.source.backlog_seconds = backlog_seconds
        for _ in range(round(seconds * 4)):
            self.clock.seconds += 0.25
            self.live.round()

    def lines(self) -> list[str]:
        """Of the page of metrics."""
        return self.metrics.page().decode().splitlines()


def rig(mode: Mode, pools: TwoPools | None = None, fleet: Participation | None = None) -> Rig:
    """A controller with the preset ``measured`` and the load detector."""
    pools = pools or TwoPools()
    source, clock, metrics = ScriptedSource(), Clock(), Metrics()
    live = LiveController(
        Controller(mode=mode, profile=PRESETS["measured"]),
        source,
        pools,
        fleet=fleet,
        observer=metrics,
        clock=clock,
    )
    metrics.watch(live, lambda: 3)
    return Rig(live, metrics, source, pools, clock)
