"""The native frontend: Dynamo's, linked with the plug-in, from the wheel dynamo-regime-frontend."""

import importlib
from typing import Protocol, cast

import dynamo_regime
from dynamo_regime.errors import RegimeError
from dynamo_regime.target import Decisions, FinishedRequests, PolicyTarget

_PACKAGE = "dynamo_regime_frontend"


class NativeFrontend(PolicyTarget, Protocol):
    """A frontend that serves, on threads of its own."""

    def wait(self, timeout_seconds: float | None = None) -> bool:
        """Wait until it has ended; False if ``timeout_seconds`` went by before.

        Raises:
            RegimeError: It ended with an error.
        """
        ...

    def shutdown(self) -> None:
        """Take no more requests and finish those under way; returns at once."""
        ...

    def decisions(self) -> Decisions:
        """The decisions of all pools since the last call."""
        ...

    def finished_requests(self) -> FinishedRequests:
        """The requests that finished since the last call."""
        ...


class NativeFrontendClass(Protocol):
    """What starts one."""

    def start(self, options: str) -> NativeFrontend:
        """Start a frontend with ``options`` (JSON); returns once it listens.

        Raises:
            RegimeError: It cannot start.
        """
        ...


def load() -> NativeFrontendClass:
    """The native frontend's class.

    Raises:
        RegimeError: Its wheel is not installed, or does not load on this machine.
    """
    try:
        module = importlib.import_module(_PACKAGE)
    except ImportError as error:
        if isinstance(error, ModuleNotFoundError) and error.name == _PACKAGE:
            raise RegimeError(
                "Dynamo's frontend with the plug-in is not installed: "
                f"pip install dynamo-regime-frontend=={dynamo_regime.__version__}"
            ) from error
        raise RegimeError(f"dynamo-regime-frontend does not load: {error}") from error
    return cast(NativeFrontendClass, module.Frontend)
