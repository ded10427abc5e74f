"""This frontend's membership in a fleet: a thread that keeps up the protocol over NATS."""

import asyncio
import contextlib
import logging
import re
import threading
import uuid
from collections.abc import Callable
from functools import partial

from dynamo_regime.control.fleet.aggregate import FreshReports
from dynamo_regime.control.fleet.bucket import Bucket, UnreachableError
from dynamo_regime.control.fleet.exchange import WriteLease, WritePolicy
from dynamo_regime.control.fleet.nats_settings import NatsSettings
from dynamo_regime.control.fleet.protocol import Member
from dynamo_regime.control.fleet.records import FleetDecision, FleetError, Report
from dynamo_regime.control.fleet.settings import FleetSettings
from dynamo_regime.control.fleet.status import FleetStatus
from dynamo_regime.control.reading import Reading
from dynamo_regime.control.signals.backoff import Backoff

_log = logging.getLogger(__name__)

_TIMEOUT_SECONDS = 2.0
"""For connecting to NATS, and for every call of it."""


class Fleet:
    """Membership of one frontend, to be used by the controller's thread.

    It is a :class:`~dynamo_regime.control.fleet.membership.Membership`. Who hands in no reading for
    ``report_seconds``, because its controller hangs, neither keeps nor takes the lease.
    """

    def __init__(
        self, settings: FleetSettings, nats: NatsSettings, name: str, clock: Callable[[], float]
    ) -> None:
        """Prepare; nothing is contacted before :meth:`start`.

        Args:
            settings: The fleet.
            nats: Where NATS is.
            name: Of this frontend, as people shall read it; what is no letter, digit, ``_`` or
                ``-`` becomes a ``-``.
            clock: Seconds on a clock that never goes back.
        """
        self._settings = settings
        self._nats = nats
        self._clock = clock
        # A restarted frontend is another member: the lease of the one that died is not its own.
        unique = f"{re.sub(r'[^A-Za-z0-9_-]', '-', name)[:64]}-{uuid.uuid4().hex[:8]}"
        self._member = Member(unique, settings.lease_seconds)
        self._reports = FreshReports(settings.report_seconds, settings.loads_are_shared)
        self._own: Reading | None = None
        self._own_at = 0.0
        self._merged: Reading | None = None
        self._lock = threading.Lock()
        self._first_contact = threading.Event()
        self._refusal: FleetError | None = None
        self._stop: Callable[[], object] = lambda: None
        self._thread = threading.Thread(target=self._run, name="dynamo-regime-fleet", daemon=True)

    def start(self) -> None:
        """Join. Without NATS, wait for it no longer than a connection may take, and keep trying.

        Raises:
            FleetError: The bucket holds something that this version cannot read.
        """
        self._thread.start()
        self._first_contact.wait(_TIMEOUT_SECONDS)
        if self._refusal is not None:
            self.stop()
            raise self._refusal

    def stop(self) -> None:
        """Leave; a decider hands the lease back, so that nobody has to wait for it."""
        with contextlib.suppress(RuntimeError):  # The loop has ended already.
            self._stop()
        self._thread.join(2 * _TIMEOUT_SECONDS)

    def report(self, reading: Reading) -> None:
        """Let the fleet have this frontend's latest reading."""
        with self._lock:
            self._own, self._own_at = reading, self._clock()

    def status(self) -> FleetStatus:
        """How this member stands, with the policy in force."""
        with self._lock:
            return self._member.status(self._clock())

    def reading(self) -> Reading | None:
        """All members' readings as one, anew with every look; None while NATS is out of reach."""
        with self._lock:
            return self._merged if self._member.status(self._clock()).connected else None

    def propose(self, decision: FleetDecision) -> bool:
        """Decide for the fleet; it is in force when ``status().policy`` has it.

        Returns:
            False if this member is not the decider.
        """
        with self._lock:
            return self._member.propose(self._clock(), decision)

    def _run(self) -> None:
        with contextlib.suppress(asyncio.CancelledError):
            asyncio.run(self._live())

    async def _live(self) -> None:
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        if task is not None:
            self._stop = partial(loop.call_soon_threadsafe, task.cancel)
        backoff = Backoff(first_seconds=self._settings.poll_seconds, longest_seconds=5.0)
        while True:
            try:
                await self._member_of_bucket(backoff)
            except FleetError as error:
                self._lost(error)
            except Exception as error:
                # Of whatever kind: a member that is silently dead would look connected.
                _log.exception("The fleet's thread goes on after an unforeseen error")
                self._lost(UnreachableError(f"unforeseen error ({type(error).__name__}: {error})"))
            finally:
                self._first_contact.set()
            backoff.failed(self._clock())
            await asyncio.sleep(backoff.wait_seconds(self._clock()))

    def _lost(self, error: FleetError) -> None:
        with self._lock:
            known = self._member.status(self._clock()).reason
            self._member.lost(str(error))
        if str(error) != known:
            _log.warning("The fleet is out of reach, the last policy stays: %s", error)
        if not self._first_contact.is_set() and not isinstance(error, UnreachableError):
            self._refusal = error

    async def _member_of_bucket(self, backoff: Backoff) -> None:
        settings = self._settings
        async with await Bucket.connect(
            self._nats, settings.bucket, settings.report_seconds, _TIMEOUT_SECONDS
        ) as bucket:
            try:
                await self._step(bucket)
                _log.info("Joined the fleet of NATS bucket %s", settings.bucket)
                self._first_contact.set()
                backoff.succeeded()
                while True:
                    await asyncio.sleep(settings.poll_seconds)
                    await self._step(bucket)
            except asyncio.CancelledError:
                await self._release(bucket)
                raise

    async def _step(self, bucket: Bucket) -> None:
        with self._lock:
            policy, reading = self._member.policy, self._own_reading()
        await bucket.report(Report(member=self._member.name, policy=policy, reading=reading))
        snapshot = await bucket.snapshot()
        with self._lock:
            time = self._clock()
            self._member.observe(time, snapshot)
            self._reports.observe(time, snapshot.reports)
            self._merged = self._reports.merged(time)
            write = self._due(time)
        while write is not None:
            sent_at = self._clock()
            revision = await bucket.write(write)
            with self._lock:
                if revision is None:
                    self._member.refused(write)
                    return
                time = self._clock()
                self._member.written(time, write, sent_at, revision)
                write = self._due(time)

    def _own_reading(self) -> Reading | None:
        """Unless it is so old that whoever hands them in must be hung."""
        age = self._clock() - self._own_at
        return self._own if age < self._settings.report_seconds else None

    def _due(self, time: float) -> WriteLease | WritePolicy | None:
        if self._own_reading() is None:
            return self._member.release()
        return self._member.next_write(time)

    async def _release(self, bucket: Bucket) -> None:
        with self._lock:
            write = self._member.release()
        if write is not None:
            with contextlib.suppress(UnreachableError):
                await bucket.write(write)
