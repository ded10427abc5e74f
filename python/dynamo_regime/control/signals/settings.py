"""Where readings come from: the part ``signals`` of the section ``regime_controller``."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from dynamo_regime.control.checked import Checked, Positive
from dynamo_regime.control.signals.http import checked_url
from dynamo_regime.control.signals.metrics_endpoint import MetricsEndpoint
from dynamo_regime.control.signals.prometheus import Prometheus
from dynamo_regime.control.signals.remote import RemoteSource
from dynamo_regime.control.signals.source import MINIMUM_COUNT

Url = Annotated[str, AfterValidator(checked_url)]
Count = Annotated[int, Field(ge=1, le=1_000_000)]


class InProcessSignals(Checked):
    """Decisions and finished requests of the frontend in this process.

    Attributes:
        kind: Tells this source from others.
        window_seconds: Over which latencies and rates are taken.
        minimum_count: Fewer latencies than that have no quantiles.
    """

    kind: Literal["in-process"] = "in-process"
    window_seconds: Positive = 5.0
    minimum_count: Count = MINIMUM_COUNT


class MetricsSignals(Checked):
    """A frontend's ``/metrics`` page; Dynamo's request trace stays off.

    Attributes:
        kind: Tells this source from others.
        url: Of the frontend; by default this one.
        window_seconds: Over which latencies and rates are taken.
        read_seconds: The page is read no more often than this.
        timeout_seconds: Bound on each wait for the frontend.
        minimum_count: Fewer latencies than that have no quantiles.
    """

    kind: Literal["metrics"] = "metrics"
    url: Url | None = None
    window_seconds: Positive = 5.0
    read_seconds: Positive = 0.25
    timeout_seconds: Annotated[Positive, Field(le=2.0)] = 1.0
    minimum_count: Count = MINIMUM_COUNT


class PrometheusSignals(Checked):
    """A Prometheus server that scrapes several frontends; Dynamo's request trace stays off.

    Attributes:
        kind: Tells this source from others.
        url: Of the server.
        window_seconds: Over which rates are taken; at least twice the server's scrape interval.
        read_seconds: The server is asked no more often than this.
        timeout_seconds: Bound on each wait for the server.
        matchers: Labels that tell this deployment's frontends from others on the same server.
        loads_are_shared: Whether every frontend sees the load of all of them, as with Dynamo's
            ``--router-replica-sync``, rather than its own share.
        minimum_count: Fewer latencies than that have no quantiles.
    """

    kind: Literal["prometheus"] = "prometheus"
    url: Url
    window_seconds: Positive = 30.0
    read_seconds: Positive = 5.0
    timeout_seconds: Annotated[Positive, Field(le=2.0)] = 1.0
    matchers: Mapping[Annotated[str, Field(pattern=r"^[a-zA-Z_]\w*$")], str] = Field(
        default_factory=dict
    )
    loads_are_shared: bool = False
    minimum_count: Count = MINIMUM_COUNT


SignalSettings = Annotated[
    InProcessSignals | MetricsSignals | PrometheusSignals, Field(discriminator="kind")
]
"""Settings of any source, told apart by ``kind``."""


def remote_source(
    settings: MetricsSignals | PrometheusSignals,
    *,
    own_url: str,
    metrics_prefix: str,
    environment: Mapping[str, str],
) -> RemoteSource:
    """The source that these settings describe; nothing is contacted.

    Args:
        settings: Of the source.
        own_url: Of the frontend in this process.
        metrics_prefix: What the names of the frontends' metrics begin with.
        environment: Has the Prometheus server's token and authority.

    Raises:
        SignalError: The environment names an authority that cannot be used.
    """
    if isinstance(settings, MetricsSignals):
        return MetricsEndpoint(
            settings.url or own_url,
            settings.window_seconds,
            read_seconds=settings.read_seconds,
            minimum_count=settings.minimum_count,
            metrics_prefix=metrics_prefix,
            timeout_seconds=settings.timeout_seconds,
        )
    return Prometheus(
        settings.url,
        settings.window_seconds,
        environment,
        matchers=settings.matchers,
        loads_are_shared=settings.loads_are_shared,
        read_seconds=settings.read_seconds,
        minimum_count=settings.minimum_count,
        metrics_prefix=metrics_prefix,
        timeout_seconds=settings.timeout_seconds,
    )
