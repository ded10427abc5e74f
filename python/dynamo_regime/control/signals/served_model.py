"""What the frontend's own ``/metrics`` page says of the workers' KV cache."""

import re
from dataclasses import dataclass

from dynamo_regime.control.signals.http import FetchError, HttpSource
from dynamo_regime.control.signals.metric_names import DEFAULT_PREFIX


@dataclass(frozen=True, slots=True)
class KvCache:
    """The KV cache of a worker; None is not known, or not the same for all models.

    Attributes:
        block_size_tokens: Tokens in a block.
        blocks: Blocks of one worker.
    """

    block_size_tokens: int | None
    blocks: float | None


class ServedModel:
    """Asks for it until it is known: a frontend knows of no model before the first worker."""

    def __init__(self, url: str, metrics_prefix: str = DEFAULT_PREFIX) -> None:
        """Prepare; nothing is contacted.

        Args:
            url: Of the frontend.
            metrics_prefix: What the names of its metrics begin with.

        Raises:
            SignalError: The URL cannot be used.
        """
        self._http = HttpSource(url, timeout_seconds=1.0)
        self._prefix = metrics_prefix

    def kv_cache(self) -> KvCache:
        """What is known now; it waits at most a second or so for the frontend."""
        try:
            page = self._http.get("/metrics")
        except FetchError:
            return KvCache(None, None)
        size = self._same_for_all(page, "model_kv_cache_block_size")
        return KvCache(
            block_size_tokens=None if size is None else int(size),
            blocks=self._same_for_all(page, "model_total_kv_blocks"),
        )

    def _same_for_all(self, page: str, name: str) -> float | None:
        lines = re.findall(
            rf"^{re.escape(self._prefix)}_{name}(?:{{.*}})? (\d+(?:\.\d+)?)$", page, re.MULTILINE
        )
        values = {float(value) for value in lines} - {0.0}
        return values.pop() if len(values) == 1 else None
