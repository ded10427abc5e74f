"""The controller inside the frontend: from its section in the router-policy file to its thread."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from dynamo_regime.errors import RegimeError
from dynamo_regime.frontend.native import NativeFrontend
from dynamo_regime.frontend.process import trace_requests_in_process
from dynamo_regime.frontend.settings import Settings

if TYPE_CHECKING:
    from dynamo_regime.control.controller import Controller
    from dynamo_regime.control.fleet.participation import Participation
    from dynamo_regime.control.running import Running
    from dynamo_regime.control.signals.remote import RemoteSource
    from dynamo_regime.control.signals.settings import InProcessSignals, SignalSettings

_POLICY_FILE = "router_policy_config"


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be started.

    Attributes:
        settings: The frontend's, whose router-policy file is Dynamo's part only.
        controller: What decides; None if there is no section, or its mode is off.
        signals: What it decides by: how this process is read, or another source.
        fleet: Whom it decides with; None if it decides alone.
    """

    settings: Settings
    controller: "Controller | None"
    signals: "InProcessSignals | RemoteSource | None" = None
    fleet: "Participation | None" = None


@contextmanager
def planned(settings: Settings) -> Iterator[Plan]:
    """Take the controller's section out of the router-policy file, for as long as it is used.

    Without a section nothing is loaded and nothing changes. Dynamo's part lies in a temporary file,
    which Dynamo reads anew with every model that it discovers. If there is a fleet, the frontend is
    a member of it meanwhile.

    Raises:
        RegimeError: The section, a profile that it names, or its fleet cannot be used. One that is
            raised within, about the temporary file, names the one that the user wrote.
    """
    kv_router = settings.options["kv_router"]
    path = kv_router[_POLICY_FILE] if isinstance(kv_router, dict) else None
    text = _text(path) if isinstance(path, str) else ""
    # Looked for before anything is loaded: most deployments have no section.
    if not isinstance(kv_router, dict) or path is None or "regime_controller" not in text:
        yield Plan(settings, None)
        return
    from dynamo_regime.control.checked import validated
    from dynamo_regime.control.controller import Controller
    from dynamo_regime.control.router_policy import SECTION, split_router_policy
    from dynamo_regime.control.settings import ControllerSettings, Mode

    rest, section = split_router_policy(text, path)
    controller = signals = fleet_settings = None
    if section is not None:
        place = f"{path}: {SECTION}"
        wanted = validated(ControllerSettings, section, place)
        if wanted.mode is not Mode.OFF:
            controller = Controller.from_settings(wanted, place, Path(path).parent)
            signals = _signals(wanted.signals, settings, place)
            fleet_settings = wanted.fleet
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="dynamo-regime-"))
        part = Path(folder) / "router-policy.yaml"
        if rest is not None:
            part.write_text(rest, encoding="utf-8")
        options = settings.options | {
            "kv_router": kv_router | {_POLICY_FILE: None if rest is None else str(part)}
        }
        fleet = None
        if fleet_settings is not None:
            from dynamo_regime.control.signals.prometheus import Prometheus
            from dynamo_regime.frontend.fleet import joined

            of_all = isinstance(signals, Prometheus)
            fleet = stack.enter_context(
                joined(fleet_settings, settings.url, readings_are_of_all=of_all)
            )
        try:
            yield Plan(replace(settings, options=options), controller, signals, fleet)
        except RegimeError as error:
            if str(part) not in str(error):
                raise
            raise type(error)(str(error).replace(str(part), path)) from error


def run(plan: Plan, frontend: NativeFrontend) -> "Running | None":
    """Start the controller of a frontend that serves; None if there is none."""
    if plan.controller is None or plan.signals is None:
        return None
    from dynamo_regime.anarchy.live import LiveAnarchy
    from dynamo_regime.control.finished_log import FinishedLog
    from dynamo_regime.control.live import LiveController
    from dynamo_regime.control.metrics import Metrics
    from dynamo_regime.control.running import Running
    from dynamo_regime.control.signals.remote import RemoteSource
    from dynamo_regime.frontend.source import FrontendSource, RemoteReadings

    metrics = Metrics()
    finished: FinishedLog | None = None
    anarchy: LiveAnarchy | None = None
    source: FrontendSource | RemoteReadings
    if isinstance(plan.signals, RemoteSource):
        source = RemoteReadings(frontend, plan.signals, metrics.decided)
    else:
        finished = FinishedLog()
        source = FrontendSource(
            frontend, plan.settings, plan.signals, metrics.decided, finished.add
        )
    live = LiveController(plan.controller, source, frontend, fleet=plan.fleet, observer=metrics)
    metrics.watch(live, lambda: source.lost)
    live.start()
    if finished is not None:
        anarchy = LiveAnarchy(finished, live.events)
        metrics.show(anarchy)
        anarchy.start()
    return Running(live, metrics, finished, anarchy)


def _signals(
    wanted: "SignalSettings", settings: Settings, place: str
) -> "InProcessSignals | RemoteSource":
    """What is to be read; Dynamo's request trace is on only where it is.

    Raises:
        SignalError: The source cannot be used.
    """
    from dynamo_regime.control.signals.settings import InProcessSignals, remote_source
    from dynamo_regime.control.signals.source import SignalError
    from dynamo_regime.frontend.source import loopback, metrics_prefix

    if isinstance(wanted, InProcessSignals):
        trace_requests_in_process()
        return wanted
    try:
        return remote_source(
            wanted,
            own_url=loopback(settings.url),
            metrics_prefix=metrics_prefix(settings),
            environment=os.environ,
        )
    except SignalError as error:
        raise SignalError(f"{place}.signals: {error}") from None


def _text(path: str) -> str:
    """What a file holds; "" where Dynamo is to say what is wrong with it."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
