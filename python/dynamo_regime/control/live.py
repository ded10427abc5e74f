"""The controller in a running frontend: one thread that reads, decides and swaps.

The only module of the controller that looks at a clock. Routing never waits for it: a thread that
is hung or dead leaves every pool with the policy that it has.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dynamo_regime.control.controller import Controller, Step
from dynamo_regime.control.events import EventRing, PoolSwap
from dynamo_regime.control.orders import Orders
from dynamo_regime.control.reading import Reading
from dynamo_regime.control.regime import Transition
from dynamo_regime.control.settings import Mode
from dynamo_regime.control.signals.source import Source
from dynamo_regime.errors import RegimeError, UnknownPoolError
from dynamo_regime.target import PolicyTarget

if TYPE_CHECKING:
    from dynamo_regime.control.fleet.participation import Participation
    from dynamo_regime.control.fleet.status import FleetStatus

READ_SECONDS = 0.25
"""The source is read at this pace, whatever the detector's: its rings must not overflow."""
HUNG_SECONDS = 3.0
"""After so long without a completed round the thread counts as hung."""
_PATIENCE_SECONDS = 1.0

_log = logging.getLogger(__name__)


class ControllerHungError(RegimeError):
    """The controller's thread holds on to something; the policies stay as they are."""


class Observer:
    """Is told what happened, for metrics; by default it ignores it."""

    def stepped(self, seconds: float) -> None:
        """A decision took so long."""

    def transition(self, transition: Transition) -> None:
        """The regime changed."""

    def swapped(self, swap: PoolSwap, seconds: float) -> None:
        """A policy was swapped, which took so long."""

    def shadow_swapped(self, swap: PoolSwap) -> None:
        """A policy would have been swapped in mode ``act``."""

    def swap_failed(self, swap: PoolSwap) -> None:
        """A policy could not be swapped; it is tried again with the next decision."""

    def failed(self) -> None:
        """A round ended with an error."""


@dataclass(frozen=True, slots=True)
class LiveState:
    """How the controller stands.

    Attributes:
        mode: What it may do.
        healthy: Whether its thread is alive and has completed a round lately.
        round_age_seconds: Since its last completed round, or its start.
        cpu_seconds: Processor time that its thread has used.
        step: The last decision; None before the first.
        reading: What it was based on.
        reading_age_seconds: Age of ``reading``.
        signal_problem: Why there are no readings; "" if there are.
        overrides: Seconds to live of every override, by pool; None is the one of all pools.
        fleet: How this frontend stands in its fleet; None if it is in none.
    """

    mode: Mode
    healthy: bool
    round_age_seconds: float
    cpu_seconds: float
    step: Step | None
    reading: Reading | None
    reading_age_seconds: float | None
    signal_problem: str
    overrides: dict[str | None, float]
    fleet: "FleetStatus | None"


class LiveController:
    """Runs a :class:`Controller` on a source and a router."""

    def __init__(
        self,
        controller: Controller,
        source: Source,
        target: PolicyTarget,
        *,
        fleet: "Participation | None" = None,
        observer: Observer | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prepare; :meth:`start` starts it.

        Args:
            controller: What decides.
            source: What it decides by.
            target: What it swaps.
            fleet: Whom it decides with; by default it decides alone.
            observer: Is told what happens.
            clock: Seconds on a clock that never goes back.
        """
        self.target = target
        self.events = EventRing()
        self.observer = observer or Observer()
        self._controller = controller
        self._source = source
        self._fleet = fleet
        self._orders: Orders | None = None
        self._clock = clock
        self._unix_offset = time.time() - clock()
        self._lock = threading.Lock()  # of the controller
        self._stopping = threading.Event()
        self._thread = threading.Thread(
            target=self._run, name="dynamo-regime-controller", daemon=True
        )
        self._completed = clock()
        self._cpu_seconds = 0.0
        self._last_step: float | None = None
        self._failing = False
        # Each replaced whole, so that nobody has to wait for the thread in order to look.
        self._seen: tuple[Step, Reading] | None = None
        self._overrides: dict[str | None, float] = {}

    @property
    def unix_offset_seconds(self) -> float:
        """What to add to an event's time for the time since the UNIX epoch."""
        return self._unix_offset

    def start(self) -> None:
        """Begin to read, decide and swap."""
        self._completed = self._clock()
        self._thread.start()

    def stop(self, timeout_seconds: float = 2.0) -> None:
        """End; a thread that is hung is left behind, as it keeps no process alive."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(timeout_seconds)

    def state(self) -> LiveState:
        """How it stands; answers at once even if the thread is hung."""
        now = self._clock()
        age = now - self._completed
        seen = self._seen
        return LiveState(
            mode=self._controller.mode,
            healthy=self._thread.is_alive() and age < HUNG_SECONDS,
            round_age_seconds=age,
            cpu_seconds=self._cpu_seconds,
            step=None if seen is None else seen[0],
            reading=None if seen is None else seen[1],
            reading_age_seconds=None if seen is None else now - seen[1].time,
            signal_problem=self._source.problem,
            overrides=self._overrides,
            fleet=None if self._fleet is None else self._fleet.status(),
        )

    def override(self, seconds: float, pool: str | None = None) -> None:
        """Leave a pool, or all of them, to a person for so long.

        Raises:
            UnknownPoolError: There is no such pool.
            ControllerHungError: The thread does not let go of the controller.
            ValueError: ``seconds`` is not positive and finite.
        """
        self._check_pool(pool)
        with self._controller_at_rest() as controller:
            controller.override(self._clock(), seconds, pool)
            self._overrides = controller.overrides

    def release(self, pool: str | None = None) -> bool:
        """End the override of a pool, or the one of all pools; whether there was one.

        Raises:
            UnknownPoolError: There is no such pool.
            ControllerHungError: The thread does not let go of the controller.
        """
        self._check_pool(pool)
        with self._controller_at_rest() as controller:
            released = controller.release(self._clock(), pool)
            self._overrides = controller.overrides
        return released

    def round(self) -> None:
        """Read once, and decide if it is time to; an error ends the round and not the thread."""
        try:
            self._round(self._clock())
        except Exception:
            self.observer.failed()
            if not self._failing:
                _log.exception("A round of the controller failed; the policies stay as they are")
            self._failing = True
            return
        self._failing = False
        self._completed = self._clock()

    def _run(self) -> None:
        while not self._stopping.wait(READ_SECONDS):
            self.round()
            self._cpu_seconds = time.thread_time()

    def _round(self, now: float) -> None:
        reading, orders = self._source.read(now), None
        if self._fleet is not None:
            reading, orders = self._fleet.reading(now, reading), self._fleet.orders()
        due = self._due(now, reading)
        if not due and orders == self._orders:
            return
        self._orders = orders
        with self._lock:
            began = time.perf_counter()
            policies = self.target.policies()
            step = self._controller.step(now, reading if due else None, policies, orders)
            self.observer.stepped(time.perf_counter() - began)
            # Within the lock: an override that comes now must find the swap done, not under way.
            for swap in step.swaps:
                self._swap(swap)
            self._overrides = self._controller.overrides
        if due:
            self._last_step = now
            self._seen = step, reading
            if self._fleet is not None:
                self._fleet.propose(now, step.decided)
        self.events.extend(step.events)
        if step.transition is not None:
            self.observer.transition(step.transition)
            _log.info(
                "Regime %s -> %s: %s",
                step.transition.before,
                step.transition.after,
                step.transition.reason,
            )
        for swap in step.shadow_swaps:
            self.observer.shadow_swapped(swap)

    def _due(self, now: float, reading: Reading) -> bool:
        """Whether it is time to decide; what a fleet decided is followed at any time."""
        if self._last_step is None or self._seen is None:
            return True
        # A fleet's reading is new only with every look at the bucket, and must not count twice.
        if self._fleet is not None and reading.time == self._seen[1].time:
            return False
        # Half a pace of slack: a round that comes a little early must not wait for another.
        pace = self._controller.reading_interval_seconds - READ_SECONDS / 2
        return now - self._last_step >= pace

    def _swap(self, swap: PoolSwap) -> None:
        began = time.perf_counter()
        try:
            self.target.swap(
                temperature=swap.temperature, prefill_weight=swap.prefill_weight, pool=swap.pool
            )
        except RegimeError as error:
            self.observer.swap_failed(swap)
            _log.warning("The policy of pool %s was not swapped: %s", swap.pool, error)
        else:
            self.observer.swapped(swap, time.perf_counter() - began)

    @contextmanager
    def _controller_at_rest(self) -> Iterator[Controller]:
        if not self._lock.acquire(timeout=_PATIENCE_SECONDS):
            raise ControllerHungError(
                "the controller does not answer, and the policies stay as they are: restart the"
                " frontend when it can be spared"
            )
        try:
            yield self._controller
        finally:
            self._lock.release()

    def _check_pool(self, pool: str | None) -> None:
        known = sorted({policy.pool for policy in self.target.policies()})
        if pool is not None and pool not in known:
            raise UnknownPoolError(
                f"there is no pool {pool!r}; the pools are: {', '.join(known) or 'none yet'}"
            )
