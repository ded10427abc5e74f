"""The controller: from readings to swaps, without a clock, a thread or a network of its own.

Live, a thread calls :meth:`Controller.step` at the detector's pace; in the simulator the virtual
clock does. One thread at a time.
"""

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from dynamo_regime.control.detectors import LoadSettings, PaperSettings, SloSettings, make_detector
from dynamo_regime.control.events import Event, EventKind, PoolSwap, ReadingSummary, summarise
from dynamo_regime.control.orders import Orders
from dynamo_regime.control.overrides import Overrides
from dynamo_regime.control.prediction import NO_PREDICTION, predicted_effect
from dynamo_regime.control.profile import POOLS, Profile, Setting
from dynamo_regime.control.quality import QualityTracker
from dynamo_regime.control.reading import Reading
from dynamo_regime.control.regime import Cause, Regime, RegimeMachine, Transition
from dynamo_regime.control.settings import ControllerSettings, Mode, RegimeSettings
from dynamo_regime.control.verdict import Verdict
from dynamo_regime.target import PoolPolicy

READINGS_PER_EVENT = 8
LEVEL_DEADBAND = 0.05
"""A continuous profile is followed once a setting differs by more than this share."""


@dataclass(frozen=True, slots=True)
class Step:
    """What one step came to.

    Attributes:
        regime: The regime after it.
        fallen_back: Whether the safe policy is in force for want of readings.
        verdict: What the detector made of the reading; None without a new reading or in mode off.
        transition: The transition that was made.
        swaps: What is to be swapped now; empty unless the mode is ``act``.
        shadow_swaps: What would have been swapped; empty unless the mode is ``shadow``.
        events: All that happened, for the ring.
        decided: What the controller would have every pool set to, whether it is followed or not.
        reason: Why things are as they are, in a phrase that people can read.
    """

    regime: Regime
    fallen_back: bool
    verdict: Verdict | None
    transition: Transition | None
    swaps: tuple[PoolSwap, ...]
    shadow_swaps: tuple[PoolSwap, ...]
    events: tuple[Event, ...]
    decided: Orders
    reason: str


class Controller:
    """Detector, regime machine and profile, put together.

    In mode ``act`` a step proposes a swap for every pool whose policy is not what the profile says
    and that nobody has taken over; so a swap that failed, or a pool that came late, is made good by
    the next step, without a second event. Before the first telling reading nothing is changed, for
    a frontend may start at peak load.

    Its own mind changes only with a transition, or, with a profile that goes by load index, when
    ``min_dwell_seconds`` have passed since the last change and a setting differs by more than 5 %.
    Of both together there are thus at most ``2 · (1 + floor(T / min_dwell))`` in any T seconds.
    """

    def __init__(
        self,
        *,
        mode: Mode,
        profile: Profile,
        detector: LoadSettings | PaperSettings | SloSettings | None = None,
        regime: RegimeSettings | None = None,
        ttft_limit_seconds: float | None = None,
    ) -> None:
        """Begin in the normal regime, with nothing seen.

        Args:
            mode: What it may do.
            profile: What it goes by.
            detector: By default the profile's, or else ``load``.
            regime: When the regime changes; by default as :class:`RegimeSettings`.
            ttft_limit_seconds: A request above it counts as hurt by a transition.
        """
        regime = regime or RegimeSettings()
        self._mode = mode
        self._profile = profile
        self._detector = make_detector(detector or profile.detector or LoadSettings())
        self._machine = RegimeMachine(
            debounce_readings=regime.debounce_readings or self._detector.debounce_readings,
            min_dwell_seconds=regime.min_dwell_seconds,
            absence_deadline_seconds=regime.absence_deadline_seconds,
        )
        self._min_dwell = regime.min_dwell_seconds
        self._level = 0.0
        self._level_changed: float | None = None
        self._overrides = Overrides()
        self._pending: list[Event] = []
        self._quality = QualityTracker(ttft_limit_seconds=ttft_limit_seconds)
        self._recent: deque[ReadingSummary] = deque(maxlen=READINGS_PER_EVENT)
        self._last_reading_time: float | None = None
        self._shadow: dict[tuple[str, str], Setting] = {}
        self._proposed: list[tuple[int, PoolSwap]] = []
        self._has_seen = False

    @classmethod
    def from_settings(cls, settings: ControllerSettings, place: str, folder: Path) -> Self:
        """The controller that these settings describe.

        Args:
            settings: What to decide by.
            place: The file and section that they come from, for messages.
            folder: What the path of a profile is relative to.

        Raises:
            ConfigurationError: The profile cannot be used.
        """
        return cls(
            mode=settings.mode,
            profile=settings.resolved_profile(place, folder),
            detector=settings.detector,
            regime=settings.regime,
            ttft_limit_seconds=settings.ttft_limit_seconds,
        )

    @property
    def mode(self) -> Mode:
        """What it may do."""
        return self._mode

    @property
    def reading_interval_seconds(self) -> float:
        """The pace at which readings are wanted."""
        return self._detector.reading_interval_seconds

    @property
    def overrides(self) -> dict[str | None, float]:
        """Seconds to live of every override, by pool; None is the one of all pools."""
        return self._overrides.remaining_seconds()

    def override(self, time: float, seconds: float, pool: str | None = None) -> None:
        """Leave a pool, or all of them, to a person for so long.

        Whatever is in force stays, and what the person sets meanwhile.

        Raises:
            ValueError: ``seconds`` is not positive and finite.
        """
        self._overrides.put(pool, seconds)
        reason = f"{pool or 'every pool'} is left to a person for {seconds:g} s"
        self._pending.append(Event(EventKind.OVERRIDE, time, reason, pool=pool))

    def release(self, time: float, pool: str | None = None) -> bool:
        """End the override of a pool, or the one of all pools; whether there was one."""
        released = self._overrides.release(pool)
        if released:
            reason = f"the override of {pool or 'every pool'} was ended"
            self._pending.append(Event(EventKind.OVERRIDE_END, time, reason, pool=pool))
        return released

    def step(
        self,
        time: float,
        reading: Reading | None,
        current: Sequence[PoolPolicy],
        orders: Orders | None = None,
    ) -> Step:
        """Take the next reading and say what follows from it.

        Args:
            time: The clock in seconds, monotonic or virtual; it may jump.
            reading: The latest one; None if there is none. One with the same time as the one
                before is not looked at again.
            current: The policies in force.
            orders: What is to be followed in place of its own decision, as in a fleet.
        """
        events = [*self._pending, *self._expired(time)]
        self._pending.clear()
        if self._mode is Mode.OFF:
            off = Orders({}, None, "the mode is off")
            return Step(Regime.NORMAL, False, None, None, (), (), tuple(events), off, off.reason)
        fresh = self._fresh(reading)
        verdict = None if fresh is None else self._detector.update(fresh)
        self._has_seen |= verdict is not None and verdict.regime is not None
        transition = self._machine.step(time, verdict)
        if fresh is not None:
            self._recent.append(summarise(fresh))
            quality = self._quality.see(fresh, transition)
            if quality is not None:
                reason = "the last transition can be judged"
                events.append(Event(EventKind.QUALITY, time, reason, quality=quality))
        if transition is not None:
            events.append(
                Event(
                    EventKind.TRANSITION,
                    time,
                    transition.reason,
                    transition=transition,
                    readings=tuple(self._recent),
                )
            )
        self._follow_level(verdict, transition)
        decided = self._decided(verdict)
        followed = decided if orders is None else orders
        swaps = self._swaps(current, followed)
        kind = EventKind.SWAP if self._mode is Mode.ACT else EventKind.SHADOW_SWAP
        # One that is proposed again, since it was refused, is no news.
        versions = {(policy.pool, policy.instance): policy.version for policy in current}
        proposed = [(versions[swap.pool, swap.instance], swap) for swap in swaps]
        events.extend(
            Event(kind, time, followed.reason, swap=each[1])
            for each in proposed
            if each not in self._proposed
        )
        self._proposed = proposed
        acting = self._mode is Mode.ACT
        return Step(
            regime=self._machine.regime,
            fallen_back=self._machine.fallen_back,
            verdict=verdict,
            transition=transition,
            swaps=swaps if acting else (),
            shadow_swaps=() if acting else swaps,
            events=tuple(events),
            decided=decided,
            reason=decided.reason,
        )

    def _expired(self, time: float) -> list[Event]:
        return [
            Event(
                EventKind.OVERRIDE_END,
                time,
                f"the override of {pool or 'every pool'} has expired",
                pool=pool,
            )
            for pool in self._overrides.expire(time)
        ]

    def _fresh(self, reading: Reading | None) -> Reading | None:
        """The reading, if it can be placed in time and was not seen before."""
        if reading is None or not math.isfinite(reading.time):
            return None
        if reading.time == self._last_reading_time:
            return None
        self._last_reading_time = reading.time
        return reading

    def _follow_level(self, verdict: Verdict | None, transition: Transition | None) -> None:
        """Take the verdict's level over, if it is time to and makes a difference."""
        now = self._machine.running_seconds
        if transition is not None and transition.cause is not Cause.FALLBACK:
            self._level_changed = now
        elif self._level_changed is not None and now - self._level_changed < self._min_dwell:
            return
        if verdict is None or verdict.level is None or self._machine.fallen_back:
            return
        regime = self._machine.regime
        if transition is None and not any(
            _differ(pool.at(regime, self._level), pool.at(regime, verdict.level))
            for pool in self._profile.pools.values()
        ):
            return
        self._level = verdict.level
        self._level_changed = now

    def _decided(self, verdict: Verdict | None) -> Orders:
        if not (self._has_seen or self._machine.fallen_back):
            return Orders({}, None, "nothing is known of the load yet, and nothing is changed")
        wanted = {pool: self._wanted(pool) for pool in POOLS}
        return Orders(
            settings={pool: setting for pool, setting in wanted.items() if setting is not None},
            regime=None if self._machine.fallen_back else self._machine.regime,
            reason=self._reason(verdict),
        )

    def _wanted(self, pool: str) -> Setting | None:
        """What the profile says for a pool now; None leaves it alone."""
        settings = self._profile.pool(pool)
        if settings is None:
            return None
        if self._machine.fallen_back:
            return self._profile.safe
        return settings.at(self._machine.regime, self._level)

    def _swaps(self, current: Sequence[PoolPolicy], orders: Orders) -> tuple[PoolSwap, ...]:
        swaps = []
        for policy in current:
            wanted = orders.settings.get(policy.pool)
            if wanted is None or self._overrides.covers(policy.pool):
                continue
            present = Setting(temperature=policy.temperature, prefill_weight=policy.prefill_weight)
            if self._mode is Mode.SHADOW:
                # What would be in force by now, had it acted.
                present = self._shadow.get((policy.pool, policy.instance), present)
                self._shadow[policy.pool, policy.instance] = wanted
            if wanted != present:
                swaps.append(self._swap(policy, present, wanted, orders.regime))
        return tuple(swaps)

    def _swap(
        self, policy: PoolPolicy, present: Setting, wanted: Setting, regime: Regime | None
    ) -> PoolSwap:
        prediction = NO_PREDICTION
        if regime is not None:
            prediction = predicted_effect(self._profile, policy.pool, regime, present, wanted)
        return PoolSwap(
            pool=policy.pool,
            instance=policy.instance,
            temperature=wanted.temperature,
            prefill_weight=wanted.prefill_weight,
            temperature_before=present.temperature,
            prefill_weight_before=present.prefill_weight,
            prediction=prediction,
        )

    def _reason(self, verdict: Verdict | None) -> str:
        regime = self._machine.regime
        if self._machine.fallen_back:
            return f"the safe policy, for nothing is seen; last {regime}"
        return f"{regime}: {'no new reading' if verdict is None else verdict.reason}"


def _differ(present: Setting, other: Setting) -> bool:
    pairs = (
        (present.temperature, other.temperature),
        (present.prefill_weight, other.prefill_weight),
    )
    return any(abs(a - b) > LEVEL_DEADBAND * max(a, b) for a, b in pairs)
