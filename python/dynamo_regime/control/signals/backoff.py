"""When to try again something that failed."""


class Backoff:
    """Twice the wait after every failure in a row, up to a longest one. Time is passed in."""

    def __init__(self, first_seconds: float, longest_seconds: float) -> None:
        """Start without a failure."""
        self._first = first_seconds
        self._longest = longest_seconds
        self._next_wait = first_seconds
        self._not_before: float | None = None

    def ready(self, time: float) -> bool:
        """Whether it is time to try."""
        return self.wait_seconds(time) == 0.0

    def wait_seconds(self, time: float) -> float:
        """How long not to try yet."""
        if self._not_before is None:
            return 0.0
        # A clock that was set back must not silence us for longer than a wait takes.
        return min(max(self._not_before - time, 0.0), self._longest)

    def failed(self, time: float) -> None:
        """An attempt failed at ``time``."""
        self._not_before = time + self._next_wait
        self._next_wait = min(2 * self._next_wait, self._longest)

    def succeeded(self) -> None:
        """An attempt succeeded."""
        self._next_wait = self._first
        self._not_before = None
