"""The fleet's part of the section ``regime_controller``."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from dynamo_regime.control.checked import Checked, Positive


class FleetSettings(Checked):
    """What all members of a fleet have to agree on.

    Attributes:
        bucket: Name of the NATS key-value bucket: letters, digits, ``_`` and ``-``.
        lease_seconds: How long the fleet waits for a silent decider before another one takes over.
        poll_seconds: How often the bucket is read: the delay of a policy on its way to a member.
        report_seconds: How long a member's reading counts after it was seen for the first time.
        loads_are_shared: Whether every frontend sees the load of all of them, as with Dynamo's
            ``--router-replica-sync``, rather than its own share.
    """

    bucket: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")] = "dynamo-regime"
    lease_seconds: Positive = 3.0
    poll_seconds: Positive = 0.25
    report_seconds: Positive = 5.0
    loads_are_shared: bool = False

    @model_validator(mode="after")
    def _several_looks(self) -> Self:
        # A lease is renewed, and a report replaced, once a look.
        for name in ("lease_seconds", "report_seconds"):
            seconds = getattr(self, name)
            if seconds < 3 * self.poll_seconds:
                raise ValueError(
                    f"{name} is {seconds:g}: it must be at least three times poll_seconds"
                    f" ({self.poll_seconds:g})"
                )
        return self
