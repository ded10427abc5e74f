"""A listener of each test's own, and the command line run against it."""

from collections.abc import Callable, Iterator

import pytest
from typer.testing import CliRunner, Result

from dynamo_regime.admin.server import AdminServer, start_admin
from dynamo_regime.cli.app import app
from tests.unit.admin.two_pools import TwoPools

Run = Callable[..., Result]


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("DYNAMO_REGIME_ADMIN", "DYNAMO_REGIME_ADMIN_TOKEN"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("COLUMNS", "120")


@pytest.fixture
def pools() -> TwoPools:
    return TwoPools()


@pytest.fixture
def listener(pools: TwoPools) -> Iterator[AdminServer]:
    server = start_admin(pools, "127.0.0.1", 0, token=None)
    yield server
    server.stop()


@pytest.fixture
def run() -> Run:
    """Run ``dynamo-regime`` with these arguments."""

    def invoke(*arguments: str) -> Result:
        return CliRunner().invoke(app, list(arguments), prog_name="dynamo-regime")

    return invoke
