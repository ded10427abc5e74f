"""Native part of dynamo_regime_frontend."""

from typing import final

from dynamo_regime.target import Decisions, FinishedRequests, PoolPolicy

__version__: str

@final
class Frontend:
    """Dynamo's frontend, serving on its own threads, with the plug-in in its routers.

    There is one in a process. Every method may be called from any thread, and none of them holds
    up a request.
    """

    @staticmethod
    def start(options: str) -> Frontend:
        """Start a frontend and return once it listens.

        Args:
            options: JSON object of the values of the frontend's flags.

        Raises:
            RegimeError: An option or the router-policy file is refused, the address is taken, or
                discovery is out of reach.
        """

    def wait(self, timeout_seconds: float | None = None) -> bool:
        """Wait until it has ended; False if ``timeout_seconds`` went by before.

        Raises:
            RegimeError: It ended with an error.
        """

    def shutdown(self) -> None:
        """Take no more requests and finish those under way; returns at once."""

    def policies(self) -> list[PoolPolicy]:
        """The present policy of every pool that the plug-in routes.

        A pool that the router-policy file names is there from the start; others come with their
        first worker.
        """

    def swap(
        self,
        *,
        temperature: float | None = None,
        prefill_weight: float | None = None,
        pool: str | None = None,
        instance: str | None = None,
    ) -> list[PoolPolicy]:
        """Change the policy of the named pool or instance, or of all; the next request feels it.

        What is None keeps its value. The change is validated whole before any of it is published.

        Args:
            temperature: Softmax temperature τ: finite, not negative.
            prefill_weight: Prefill weight ω: finite, not negative.
            pool: ``aggregated``, ``prefill``, ``decode`` or ``encode``.
            instance: Name of a policy instance in the router-policy file.

        Returns:
            The new policy of every pool that changed.

        Raises:
            PolicyError: A value is out of range, or none is given.
            UnknownPoolError: There is no such pool or instance.
            InputError: Both a pool and an instance are named.
        """

    def decisions(self) -> Decisions:
        """The decisions of all pools since the last call."""

    def recent_decisions(self, limit: int) -> Decisions:
        """The latest decisions of all pools, at most ``limit``; takes none of them away.

        Raises:
            InputError: ``limit`` is negative.
        """

    def finished_requests(self) -> FinishedRequests:
        """The requests that finished since the last call.

        None ever come if Dynamo's request trace is off (``DYN_REQUEST_TRACE``); our command line
        turns it on.
        """
