"""The frontend's place in a fleet, for as long as it runs."""

import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from dynamo_regime.control.fleet.fleet import Fleet
from dynamo_regime.control.fleet.nats_settings import NatsSettings
from dynamo_regime.control.fleet.participation import Participation
from dynamo_regime.control.fleet.settings import FleetSettings


@contextmanager
def joined(
    settings: FleetSettings, url: str, *, readings_are_of_all: bool
) -> Iterator[Participation]:
    """Be a member; leaving hands the lease back.

    Args:
        settings: The fleet; NATS is found by the environment.
        url: Of the frontend, which with the name of the machine is the member's name.
        readings_are_of_all: As :class:`Participation` has it.

    Raises:
        FleetError: The environment cannot be used, or the bucket holds what cannot be read.
    """
    name = f"{socket.gethostname()}-{urlsplit(url).port}"
    fleet = Fleet(settings, NatsSettings.from_environment(os.environ), name, time.monotonic)
    fleet.start()
    try:
        yield Participation(fleet, readings_are_of_all=readings_are_of_all)
    finally:
        fleet.stop()
