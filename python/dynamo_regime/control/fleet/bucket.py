"""The fleet's records in NATS JetStream key-value buckets; the one module that speaks to NATS.

Records are read, not watched: a watch is state on the server that a restart or a partition loses,
and what is missing looks like nothing new. Two reads every half second cost next to nothing.
"""

import asyncio
import contextlib
import logging
from types import TracebackType
from typing import Self, TypeVar

from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.js import JetStreamContext
from nats.js.api import KeyValueConfig, StorageType
from nats.js.errors import (
    BucketNotFoundError,
    KeyNotFoundError,
    KeyWrongLastSequenceError,
)
from nats.js.kv import KeyValue

from dynamo_regime.control.fleet.exchange import Slot, Snapshot, WriteLease, WritePolicy
from dynamo_regime.control.fleet.nats_settings import NatsSettings
from dynamo_regime.control.fleet.records import (
    MAX_RECORD_BYTES,
    FleetError,
    FleetPolicy,
    Lease,
    Report,
    decode,
    encode,
)

_log = logging.getLogger(__name__)

R = TypeVar("R", Lease, FleetPolicy, Report)

_POLICY_KEY = "policy"
_LEASE_KEY = "lease"
_MAX_MEMBERS = 1024
_CLOSE_SECONDS = 1.0


class UnreachableError(FleetError):
    """NATS does not answer, or does not let us in; it is worth trying again."""


class Bucket:
    """A connection to NATS and the two buckets of a fleet.

    ``<name>`` holds the policy and the lease, on disk; ``<name>-reports`` the members' reports, in
    memory and each for a while only. What is missing is created.
    """

    def __init__(
        self,
        client: Client,
        jetstream: JetStreamContext,
        agreed: KeyValue,
        reports: KeyValue,
        reports_stream: str,
        timeout_seconds: float,
    ) -> None:
        """Use :meth:`connect`."""
        self._client = client
        self._jetstream = jetstream
        self._agreed = agreed
        self._reports = reports
        self._reports_stream = reports_stream
        self._timeout_seconds = timeout_seconds

    @classmethod
    async def connect(
        cls, settings: NatsSettings, name: str, report_seconds: float, timeout_seconds: float
    ) -> Self:
        """Connect, and create the buckets if they are not there.

        There is no reconnecting underneath: it would keep writes back and send them later, when
        they no longer hold. Whoever sees :class:`UnreachableError` connects anew.

        Args:
            settings: Where and how.
            name: Letters, digits, ``_`` and ``-``.
            report_seconds: How long a report is kept.
            timeout_seconds: For connecting, and for every call later.

        Raises:
            UnreachableError: No server lets us in.
        """
        client = Client()
        try:
            await _connect(client, settings, name, timeout_seconds)
            jetstream = client.jetstream(timeout=timeout_seconds)
            agreed, reports = await _open_both(jetstream, settings, name, report_seconds)
        except BaseException:
            await _close(client)
            raise
        return cls(client, jetstream, agreed, reports, f"KV_{name}-reports", timeout_seconds)

    async def __aenter__(self) -> Self:
        """Itself."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the connection."""
        await _close(self._client)

    async def snapshot(self) -> Snapshot:
        """Read policy, lease and all reports.

        Raises:
            UnreachableError: NATS does not answer.
            FleetError: A record is not ours, or newer than we are.
        """
        try:
            async with asyncio.timeout(self._timeout_seconds):
                policy = await self._read(self._agreed, _POLICY_KEY, FleetPolicy)
                lease = await self._read(self._agreed, _LEASE_KEY, Lease)
                reports = await self._read_reports()
        except (NatsError, OSError, TimeoutError) as error:
            raise _no_answer(error) from error
        return Snapshot(policy, lease, reports)

    async def write(self, write: WriteLease | WritePolicy) -> int | None:
        """Carry out a write.

        Returns:
            Its revision; None if another write came first.

        Raises:
            UnreachableError: NATS did not say whether it was carried out.
        """
        if isinstance(write, WriteLease):
            key, text = _LEASE_KEY, encode(write.lease)
        else:
            key, text = _POLICY_KEY, encode(write.policy)
        try:
            async with asyncio.timeout(self._timeout_seconds):
                return await self._agreed.update(key, text, last=write.replaces)
        except KeyWrongLastSequenceError:
            return None
        except (NatsError, OSError, TimeoutError) as error:
            raise _no_answer(error) from error

    async def report(self, report: Report) -> None:
        """Replace this member's report.

        Raises:
            UnreachableError: NATS does not answer.
        """
        text = encode(report)
        if len(text) > MAX_RECORD_BYTES:
            _log.debug("A reading of %d bytes is too large for the fleet's bucket", len(text))
            text = encode(report.model_copy(update={"reading": None}))
        try:
            async with asyncio.timeout(self._timeout_seconds):
                await self._reports.put(report.member, text)
        except (NatsError, OSError, TimeoutError) as error:
            raise _no_answer(error) from error

    async def _read_reports(self) -> dict[str, Slot[Report]]:
        info = await self._jetstream.stream_info(self._reports_stream, subjects_filter=">")
        members = [subject.rpartition(".")[2] for subject in info.state.subjects or {}]
        members = members[:_MAX_MEMBERS]
        slots = await asyncio.gather(*(self._read_report(member) for member in members))
        return dict(zip(members, slots, strict=True))

    async def _read_report(self, member: str) -> Slot[Report]:
        try:
            return await self._read(self._reports, member, Report)
        except FleetError as error:
            # One member that is newer than we are, or mad, does not take the others down.
            _log.debug("The report of fleet member %s is left out: %s", member, error)
            return Slot(0, None)

    async def _read(self, bucket: KeyValue, key: str, kind: type[R]) -> Slot[R]:
        try:
            entry = await bucket.get(key)
        except KeyNotFoundError as error:
            # A deleted key has a revision too, which the next write has to name.
            return Slot((error.entry.revision or 0) if error.entry is not None else 0, None)
        place = f"key {key} of the NATS bucket {entry.bucket}"
        return Slot(entry.revision or 0, decode(kind, entry.value or b"", place))


async def _connect(
    client: Client, settings: NatsSettings, name: str, timeout_seconds: float
) -> None:
    problems: list[Exception] = []

    async def note(problem: Exception) -> None:
        problems.append(problem)

    try:
        async with asyncio.timeout(timeout_seconds):
            await client.connect(
                servers=list(settings.servers),
                name=f"dynamo-regime {name}",
                tls=settings.tls,
                error_cb=note,
                allow_reconnect=False,
                max_reconnect_attempts=1,  # None at all would mean without end.
                reconnect_time_wait=0,
                connect_timeout=max(1, round(timeout_seconds)),
                ping_interval=max(1, round(timeout_seconds)),
                max_outstanding_pings=2,
                **settings.login,
            )
    except Exception as error:  # A malformed seed or credentials file has errors of its own.
        cause = problems[-1] if problems else error
        raise UnreachableError(
            f"NATS at {settings.shown_servers} is not to be reached ({_text(cause)}): check"
            " NATS_SERVER, NATS_AUTH_* and NATS_TLS_*"
        ) from error


async def _close(client: Client) -> None:
    # After a failed TLS handshake, and with a server that hangs, it would wait without end. Before
    # nats-py 2.15 it fails in ways of its own on a client that never was connected.
    with contextlib.suppress(Exception):
        async with asyncio.timeout(_CLOSE_SECONDS):
            await client.close()


async def _open_both(
    jetstream: JetStreamContext, settings: NatsSettings, name: str, report_seconds: float
) -> tuple[KeyValue, KeyValue]:
    agreed = KeyValueConfig(bucket=name, max_value_size=MAX_RECORD_BYTES)
    reports = KeyValueConfig(
        bucket=f"{name}-reports",
        max_value_size=MAX_RECORD_BYTES,
        ttl=report_seconds,
        storage=StorageType.MEMORY,
    )
    try:
        return await _open(jetstream, agreed), await _open(jetstream, reports)
    except (NatsError, OSError, TimeoutError) as error:
        raise UnreachableError(
            f"NATS at {settings.shown_servers} does not open the bucket {name}"
            f" ({_text(error)}): start it with JetStream, and allow this user to create buckets"
        ) from error


async def _open(jetstream: JetStreamContext, config: KeyValueConfig) -> KeyValue:
    try:
        return await jetstream.key_value(config.bucket)
    except BucketNotFoundError:
        return await jetstream.create_key_value(config)


def _no_answer(error: Exception) -> UnreachableError:
    return UnreachableError(f"NATS does not answer ({_text(error)}): trying again")


def _text(error: Exception) -> str:
    return str(error).removeprefix("nats: ") or type(error).__name__
