"""What a frontend that runs in this process hands out."""

from typing import Protocol

from dynamo_regime.target import Decisions, FinishedRequests


class Frontend(Protocol):
    """What hands out each decision and each finished request once."""

    def decisions(self) -> Decisions:
        """The routing decisions since the last call."""
        ...

    def finished_requests(self) -> FinishedRequests:
        """The requests that finished since the last call."""
        ...
