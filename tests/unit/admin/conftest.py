"""One listener without a token for all tests here, over a router that each test finds fresh."""

from collections.abc import Iterator

import httpx
import pytest

from dynamo_regime.admin.server import AdminServer, start_admin
from tests.unit.admin.two_pools import TwoPools

_POOLS = TwoPools()


@pytest.fixture(scope="session")
def listener() -> Iterator[AdminServer]:
    server = start_admin(_POOLS, "127.0.0.1", 0, token=None)
    yield server
    server.stop()


@pytest.fixture
def pools() -> TwoPools:
    _POOLS.reset()
    return _POOLS


@pytest.fixture
def http(listener: AdminServer, pools: TwoPools) -> Iterator[httpx.Client]:
    del pools  # only to be fresh
    with httpx.Client(base_url=listener.url, trust_env=False) as client:
        yield client
