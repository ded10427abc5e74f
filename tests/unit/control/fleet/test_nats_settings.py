"""Where NATS is, from the environment."""

from pathlib import Path

import pytest

from dynamo_regime.control.fleet.nats_settings import NatsSettings
from dynamo_regime.control.fleet.records import FleetError


@pytest.fixture(autouse=True)
def nkeys_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: "nkeys")


def settings(**environment: str) -> NatsSettings:
    return NatsSettings.from_environment(environment)


def test_without_any_variable_it_is_the_local_server_without_a_login() -> None:
    assert settings().servers == ("nats://localhost:4222",)
    assert settings().login == {}
    assert settings().tls is None


def test_several_servers_are_separated_by_commas() -> None:
    assert settings(NATS_SERVER="nats://a:1, tls://b:2").servers == ("nats://a:1", "tls://b:2")


@pytest.mark.parametrize(
    ("environment", "login"),
    [
        (
            {"NATS_AUTH_USERNAME": "u", "NATS_AUTH_PASSWORD": "p", "NATS_AUTH_TOKEN": "t"},
            {"user": "u", "password": "p"},
        ),
        ({"NATS_AUTH_TOKEN": "t", "NATS_AUTH_NKEY": "n"}, {"token": "t"}),
        ({"NATS_AUTH_NKEY": "n"}, {"nkeys_seed_str": "n"}),
        ({"NATS_AUTH_USERNAME": "u"}, {}),
    ],
)
def test_the_login_is_chosen_in_dynamos_order(
    environment: dict[str, str], login: dict[str, str]
) -> None:
    assert settings(**environment).login == login


def test_a_credentials_file_is_named_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "user.creds"
    path.touch()
    assert settings(NATS_AUTH_CREDENTIALS_FILE=str(path)).login == {"user_credentials": str(path)}


def test_a_login_by_key_without_the_package_for_it_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(FleetError, match=r"pip install \"nats-py\[nkeys\]\""):
        settings(NATS_AUTH_NKEY="seed")


def test_no_secret_is_shown() -> None:
    shown = repr(settings(NATS_AUTH_USERNAME="ursula", NATS_AUTH_PASSWORD="hunter2"))
    assert "ursula" not in shown
    assert "hunter2" not in shown


def test_a_login_within_a_url_is_used_and_not_shown() -> None:
    url = "nats://ursula:hunter2@host:4222"
    assert settings(NATS_SERVER=url).servers == (url,)
    assert repr(settings(NATS_SERVER=url)) == "NatsSettings(nats://host:4222; no login)"
    with pytest.raises(FleetError) as refused:
        settings(NATS_SERVER="ursula:hunter2@host:4222")
    assert str(refused.value).startswith("NATS_SERVER has 'host:4222': write")


@pytest.mark.parametrize(
    ("environment", "told"),
    [
        ({"NATS_SERVER": "localhost:4222"}, "write nats://host:port"),
        ({"NATS_AUTH_CREDENTIALS_FILE": "/nowhere/user.creds"}, "/nowhere/user.creds"),
        ({"NATS_TLS_CA_CERT_PATH": "/nowhere/ca.pem"}, "write tls://"),
        (
            {"NATS_SERVER": "tls://a:1", "NATS_TLS_CA_CERT_PATH": "/nowhere/ca.pem"},
            "/nowhere/ca.pem",
        ),
        ({"NATS_SERVER": "tls://a:1", "NATS_TLS_CLIENT_CERT_PATH": "c"}, "go together"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_sentence(
    environment: dict[str, str], told: str
) -> None:
    with pytest.raises(FleetError) as refused:
        settings(**environment)
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)


def test_an_authority_that_is_no_certificate_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ca.pem"
    path.write_text("not a certificate")
    with pytest.raises(FleetError, match="not valid PEM"):
        settings(NATS_SERVER="tls://a:1", NATS_TLS_CA_CERT_PATH=str(path))
