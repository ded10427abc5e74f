"""Readings of the frontend that runs in this process, with what its own metrics add."""

from contextlib import suppress

from dynamo_regime.control.reading import Reading
from dynamo_regime.control.signals.frontend import Frontend
from dynamo_regime.control.signals.inprocess import InProcess
from dynamo_regime.control.signals.metric_names import DEFAULT_PREFIX
from dynamo_regime.control.signals.served_model import ServedModel
from dynamo_regime.control.signals.source import SignalError
from dynamo_regime.frontend.settings import Settings

WINDOW_SECONDS = 5.0
_ASK_SECONDS = 2.0


class FrontendSource:
    """The in-process source; how large a KV block is it asks the frontend until it is known."""

    def __init__(self, frontend: Frontend, settings: Settings) -> None:
        """Read ``frontend``, which was started with ``settings``; nobody else may drain it."""
        size = settings.options["kv_cache_block_size"]
        self._readings = InProcess(
            frontend, WINDOW_SECONDS, size if isinstance(size, int) else None
        )
        # Unread stays a page behind a certificate that we do not trust, or at an address that is no
        # URL: then the flag --kv-cache-block-size says it.
        self._model: ServedModel | None = None
        with suppress(SignalError):
            self._model = ServedModel(
                _loopback(settings.url),
                str(settings.options["metrics_prefix"] or DEFAULT_PREFIX),
            )
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


def _loopback(url: str) -> str:
    """The URL from within this machine, if it is of all addresses."""
    return url.replace("//0.0.0.0:", "//127.0.0.1:").replace("//:::", "//[::1]:")
