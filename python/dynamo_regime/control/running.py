"""The controller that runs in a process, with what it shows."""

from dataclasses import dataclass

from dynamo_regime.control.finished_log import FinishedLog
from dynamo_regime.control.live import LiveController
from dynamo_regime.control.metrics import Metrics


@dataclass(frozen=True, slots=True)
class Running:
    """What the admin listener serves.

    Attributes:
        live: The controller.
        metrics: Its metrics.
        finished: The requests that finished; None where they are not read in this process.
    """

    live: LiveController
    metrics: Metrics
    finished: FinishedLog | None = None
