"""The regime that the fleet is held to be in, and when that changes."""

from dataclasses import dataclass
from enum import StrEnum

from dynamo_regime.control.running_time import RunningTime
from dynamo_regime.control.verdict import Regime, Verdict

__all__ = ["Cause", "Regime", "RegimeMachine", "Transition"]


class Cause(StrEnum):
    """What a transition comes from."""

    LOAD = "load"
    """The load changed."""
    FALLBACK = "fallback"
    """Nothing was seen for too long: the regime is kept, and the safe policy is put in force."""
    RECOVERY = "recovery"
    """Something is seen again: the regime's own policy is put back in force."""


@dataclass(frozen=True, slots=True)
class Transition:
    """A change of what the fleet is held to be in.

    Attributes:
        time: When, on the caller's clock.
        running_seconds: When, in the machine's running time, which never runs backwards.
        before: The regime until then.
        after: The regime from then on; as before in a fallback and in a recovery.
        cause: What it comes from.
        reason: Why, in a phrase that people can read.
        since: When the load began to change, as far as the detector can tell.
    """

    time: float
    running_seconds: float
    before: Regime
    after: Regime
    cause: Cause
    reason: str
    since: float | None = None


class RegimeMachine:
    """Turns verdicts into transitions, slowly enough.

    - Debounce: ``debounce_readings`` verdicts in a row must lie on the same side of the regime. The
      paper (arXiv 2606.17081) has k = 3. A reading that tells nothing neither counts nor breaks
      the row.
    - Bounded step: from normal to saturated and back only by way of transition.
    - Minimum dwell: between any two transitions lie at least ``min_dwell_seconds``.
    - Absence: a reading that tells nothing keeps the regime. After ``absence_deadline_seconds``
      of them the machine falls back; it recovers by as many telling verdicts as the debounce asks.

    **Bound on flapping.** In any stretch of T seconds of running time there are at most
    ``1 + floor(T / min_dwell_seconds)`` transitions, fallbacks and recoveries together, whatever
    the readings: each is made only once the dwell since the one before is over, so that n of them
    take at least ``(n − 1) · min_dwell_seconds``. Running time is never more than the time on a
    clock that runs forward (:class:`RunningTime`), hence the bound holds for that clock too.
    """

    def __init__(
        self,
        *,
        debounce_readings: int = 3,
        min_dwell_seconds: float = 5.0,
        absence_deadline_seconds: float = 30.0,
    ) -> None:
        """Start in the normal regime."""
        self._debounce = debounce_readings
        self._min_dwell = min_dwell_seconds
        self._deadline = absence_deadline_seconds
        self._clock = RunningTime(max(min_dwell_seconds, absence_deadline_seconds))
        self._regime = Regime.NORMAL
        self._fallen_back = False
        self._row = _Row()
        self._last_transition: float | None = None
        self._last_seen = 0.0

    @property
    def regime(self) -> Regime:
        """The present regime; while fallen back, the last one that was seen."""
        return self._regime

    @property
    def fallen_back(self) -> bool:
        """Whether nothing has been seen for so long that the safe policy is in force."""
        return self._fallen_back

    @property
    def running_seconds(self) -> float:
        """Running time of the last step."""
        return self._clock.seconds

    def step(self, time: float, verdict: Verdict | None) -> Transition | None:
        """Take the next verdict.

        Args:
            time: The caller's clock in seconds, monotonic or virtual; it may jump.
            verdict: What the detector made of the latest reading; None if there was no reading.

        Returns:
            The transition that follows from it, if any.
        """
        now = self._clock.advance(time)
        if verdict is None or verdict.regime is None:
            return self._unseen(time, now, verdict)
        self._last_seen = now
        if self._fallen_back:
            return self._recovering(time, now, verdict)
        side = (verdict.regime.rank > self._regime.rank) - (verdict.regime.rank < self._regime.rank)
        self._row.add(side, verdict.since)
        if side == 0 or self._row.length < self._debounce or not self._dwelt(now):
            return None
        return self._change(
            time, now, self._regime.towards(verdict.regime), Cause.LOAD, verdict.reason
        )

    def _unseen(self, time: float, now: float, verdict: Verdict | None) -> Transition | None:
        unseen_for = now - self._last_seen
        if self._fallen_back:
            self._row.clear()
            return None
        if unseen_for < self._deadline or not self._dwelt(now):
            return None
        self._fallen_back = True
        why = "no reading" if verdict is None else verdict.reason
        reason = f"nothing was seen for {unseen_for:.1f} s ({why})"
        self._row.clear()
        return self._change(time, now, self._regime, Cause.FALLBACK, reason)

    def _recovering(self, time: float, now: float, verdict: Verdict) -> Transition | None:
        self._row.add(1, verdict.since)
        if self._row.length < self._debounce or not self._dwelt(now):
            return None
        self._fallen_back = False
        self._row.since = None
        reason = f"readings are back ({verdict.reason})"
        return self._change(time, now, self._regime, Cause.RECOVERY, reason)

    def _dwelt(self, now: float) -> bool:
        return self._last_transition is None or now - self._last_transition >= self._min_dwell

    def _change(
        self, time: float, now: float, after: Regime, cause: Cause, reason: str
    ) -> Transition:
        transition = Transition(time, now, self._regime, after, cause, reason, self._row.since)
        self._regime = after
        self._last_transition = now
        self._row.clear()
        return transition


@dataclass(slots=True)
class _Row:
    """Verdicts in a row on one side of the regime."""

    side: int = 0
    length: int = 0
    since: float | None = None

    def add(self, side: int, since: float | None) -> None:
        if side == 0 or side != self.side:
            self.clear()
            self.since = since
        self.side = side
        self.length += side != 0

    def clear(self) -> None:
        self.side = 0
        self.length = 0
        self.since = None
