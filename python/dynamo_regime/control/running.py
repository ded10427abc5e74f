"""The controller that runs in a process, with what it shows."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dynamo_regime.control.finished_log import FinishedLog
from dynamo_regime.control.live import LiveController
from dynamo_regime.control.metrics import Metrics

if TYPE_CHECKING:
    from dynamo_regime.anarchy.live import LiveAnarchy


@dataclass(frozen=True, slots=True)
class Running:
    """What the admin listener serves.

    Attributes:
        live: The controller.
        metrics: Its metrics.
        finished: The requests that finished; None where they are not read in this process.
        anarchy: What judges them.
    """

    live: LiveController
    metrics: Metrics
    finished: FinishedLog | None = None
    anarchy: "LiveAnarchy | None" = None

    def stop(self) -> None:
        """End what runs."""
        self.live.stop()
        if self.anarchy is not None:
            self.anarchy.stop()
