"""Where readings come from: this process, a frontend's metrics, or a Prometheus server."""

from dynamo_regime.control.signals.frontend import Frontend
from dynamo_regime.control.signals.inprocess import InProcess
from dynamo_regime.control.signals.metrics_endpoint import MetricsEndpoint
from dynamo_regime.control.signals.prometheus import Prometheus
from dynamo_regime.control.signals.source import SignalError, Source

__all__ = [
    "Frontend",
    "InProcess",
    "MetricsEndpoint",
    "Prometheus",
    "SignalError",
    "Source",
]
