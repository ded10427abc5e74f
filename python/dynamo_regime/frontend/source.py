"""Readings for the controller of the frontend that runs in this process."""

from collections.abc import Callable
from contextlib import suppress

from dynamo_regime.control.reading import Reading
from dynamo_regime.control.signals.frontend import Frontend
from dynamo_regime.control.signals.inprocess import InProcess
from dynamo_regime.control.signals.metric_names import DEFAULT_PREFIX
from dynamo_regime.control.signals.remote import RemoteSource
from dynamo_regime.control.signals.served_model import ServedModel
from dynamo_regime.control.signals.settings import InProcessSignals
from dynamo_regime.control.signals.source import SignalError
from dynamo_regime.frontend.settings import Settings
from dynamo_regime.target import Decisions, FinishedRequests

_ASK_SECONDS = 2.0


class FrontendSource:
    """The in-process source; how large a KV block is it asks the frontend until it is known."""

    def __init__(
        self,
        frontend: Frontend,
        settings: Settings,
        signals: InProcessSignals,
        decided: Callable[[Decisions], None],
        finished: Callable[[FinishedRequests], None],
    ) -> None:
        """Read ``frontend``, which was started with ``settings``; nobody else may drain it.

        Args:
            frontend: What is read.
            settings: It was started with these.
            signals: How it is read.
            decided: Is shown all decisions.
            finished: Is shown all finished requests.
        """
        size = settings.options["kv_cache_block_size"]
        self._readings = InProcess(
            frontend,
            signals.window_seconds,
            size if isinstance(size, int) else None,
            minimum_count=signals.minimum_count,
            decided=decided,
            finished=finished,
        )
        # Unread stays a page behind a certificate that we do not trust, or at an address that is no
        # URL: then the flag --kv-cache-block-size says it.
        self._model: ServedModel | None = None
        with suppress(SignalError):
            self._model = ServedModel(loopback(settings.url), metrics_prefix(settings))
        self._ask_at: float | None = None

    @property
    def problem(self) -> str:
        """Why there are no readings; "" always, for they come from this process."""
        return self._readings.problem

    @property
    def lost(self) -> int:
        """Decisions and requests that were overwritten before they were read."""
        return self._readings.lost

    def read(self, time: float) -> Reading:
        """The reading at ``time``, in seconds on the caller's clock."""
        if self._model is not None and (self._ask_at is None or time >= self._ask_at):
            self._ask_at = time + _ASK_SECONDS
            cache = self._model.kv_cache()
            self._readings.describe_workers(cache.block_size_tokens, cache.blocks)
            if cache.block_size_tokens is not None:
                self._model = None
        return self._readings.read(time)


class RemoteReadings:
    """A remote source's readings; the decisions in this process are counted all the same."""

    def __init__(
        self, frontend: Frontend, remote: RemoteSource, decided: Callable[[Decisions], None]
    ) -> None:
        """Read ``remote``, and drain the decisions of ``frontend``, which nobody else may.

        Args:
            frontend: The one in this process.
            remote: Where readings come from.
            decided: Is shown all decisions.
        """
        self._frontend = frontend
        self._remote = remote
        self._decided = decided
        self._lost = 0

    @property
    def problem(self) -> str:
        """Why there are no readings; "" if there are."""
        return self._remote.problem

    @property
    def lost(self) -> int:
        """Decisions that were overwritten before they were read."""
        return self._lost

    def read(self, time: float) -> Reading:
        """The reading at ``time``, in seconds on the caller's clock."""
        decisions = self._frontend.decisions()
        self._lost += decisions.dropped
        self._decided(decisions)
        return self._remote.read(time)


def metrics_prefix(settings: Settings) -> str:
    """What the names of the frontend's metrics begin with."""
    return str(settings.options["metrics_prefix"] or DEFAULT_PREFIX)


def loopback(url: str) -> str:
    """The URL from within this machine, if it is of all addresses."""
    return url.replace("//0.0.0.0:", "//127.0.0.1:").replace("//:::", "//[::1]:")
