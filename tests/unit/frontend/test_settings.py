"""From flags to what the native frontend and Dynamo's runtime are given."""

import re
from pathlib import Path

import pytest

from dynamo_regime.errors import InputError
from dynamo_regime.frontend.settings import read_settings

_HOST_OPTIONS = Path(__file__).parents[3] / "rust" / "host" / "src" / "options.rs"


def kv_router(*arguments: str, **environment: str) -> dict[str, object]:
    config = read_settings(arguments, environment).options["kv_router"]
    assert isinstance(config, dict)
    return config


def test_the_options_are_the_fields_that_the_native_frontend_reads() -> None:
    fields = re.search(r"pub struct Options \{(.*?)\n\}", _HOST_OPTIONS.read_text(), re.DOTALL)
    assert fields is not None
    expected = set(re.findall(r"^    pub (\w+):", fields[1], re.MULTILINE))
    assert read_settings([], {}).options.keys() == expected


def test_with_nothing_set_dynamos_defaults_are_passed_on() -> None:
    settings = read_settings([], {})
    assert settings.url == "http://0.0.0.0:8000"
    assert (settings.admin_host, settings.admin_port) == ("127.0.0.1", 9345)
    assert settings.options["discovery_backend"] == "etcd"
    assert settings.options["migration_limit"] == 0
    assert settings.options["event_plane"] is None
    assert settings.options["load_thresholds"] == {
        "active_decode_blocks_threshold": None,
        "active_prefill_tokens_threshold": None,
        "active_prefill_tokens_threshold_frac": None,
    }
    config = kv_router()
    assert config["router_temperature"] == 0.0
    assert config["prefill_load_scale"] == 1.0
    assert config["use_kv_events"] is True
    assert config["router_policy_config"] is None
    assert set(settings.environment.values()) == {None, "0"}
    assert settings.environment["DYN_ROUTER_MIN_INITIAL_WORKERS"] == "0"


def test_router_flags_reach_the_router_configuration_under_its_own_names() -> None:
    config = kv_router(
        "--router-kv-overlap-score-credit", "0.5", "--no-kv-events", DYN_ROUTER_TTL_SECS="7.5"
    )
    assert config["overlap_score_credit"] == 0.5
    assert config["use_kv_events"] is False
    assert config["router_ttl_secs"] == 7.5


def test_a_threshold_of_none_is_off() -> None:
    settings = read_settings(
        ["--active-decode-blocks-threshold", "None"],
        {"DYN_ACTIVE_DECODE_BLOCKS_THRESHOLD": "0.5", "DYN_ACTIVE_PREFILL_TOKENS_THRESHOLD": "9"},
    )
    assert settings.options["load_thresholds"] == {
        "active_decode_blocks_threshold": None,
        "active_prefill_tokens_threshold": 9,
        "active_prefill_tokens_threshold_frac": None,
    }


@pytest.mark.parametrize(
    "name", ["namespace", "metrics_prefix", "router_decode_policy", "event_plane"]
)
def test_an_empty_variable_is_one_that_is_not_there(name: str) -> None:
    assert read_settings([], {f"DYN_{name.upper()}": ""}).options[name] is None


def test_load_aware_routes_by_load_alone_whatever_other_flags_say() -> None:
    config = kv_router("--load-aware", "--router-kv-events", "--serve-indexer")
    assert config["use_kv_events"] is False
    assert config["serve_indexer"] is False
    assert config["overlap_score_credit"] == 0.0
    assert config["router_track_prefill_tokens"] is True
    assert config.keys() == kv_router().keys()


def test_the_conditions_of_conditional_disaggregation_reach_the_router_configuration() -> None:
    config = kv_router(
        "--router-conditional-disagg",
        "--router-conditional-disagg-config",
        '{"policy": "isl_bounding", "eff_isl_threshold": 512}',
    )
    assert config["conditional_disagg_enabled"] is True
    assert config["conditional_disagg_policy"] == "isl_bounding"
    assert config["conditional_disagg_eff_isl_threshold"] == 512


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            ["--router-conditional-disagg-config", "{}"],
            "does nothing without --router-conditional-disagg",
        ),
        (
            ["--router-conditional-disagg", "--router-conditional-disagg-config", '{"isl": 1}'],
            "has no field isl",
        ),
        (["--tls-cert-path", __file__], "--tls-cert-path and --tls-key-path are given together"),
        (["--tls-client-ca-cert-path", __file__], "needs --tls-cert-path and --tls-key-path"),
        (
            ["--tls-cert-path", __file__, "--tls-key-path", "nowhere.pem"],
            "--tls-key-path must be a file, but 'nowhere.pem' is none",
        ),
    ],
)
def test_flags_that_do_not_go_together_are_refused(arguments: list[str], expected: str) -> None:
    with pytest.raises(InputError, match=re.escape(expected)):
        read_settings(arguments, {})


def test_with_a_certificate_the_address_is_https() -> None:
    arguments = ["--tls-cert-path", __file__, "--tls-key-path", __file__, "--http-port", "8443"]
    assert read_settings(arguments, {}).url == "https://0.0.0.0:8443"


def test_transport_settings_go_into_the_variables_that_dynamos_runtime_reads() -> None:
    environment = read_settings(
        ["--tcp-tls-cert-path", "cert.pem", "--nats-tls-insecure"],
        {"DYN_ROUTER_MIN_INITIAL_WORKERS": "2"},
    ).environment
    assert environment["DYN_TCP_TLS_CERT_PATH"] == "cert.pem"
    assert environment["DYN_TCP_TLS_KEY_PATH"] is None
    assert environment["NATS_TLS_INSECURE"] == "1"
    assert environment["DYN_ROUTER_MIN_INITIAL_WORKERS"] == "2"


def test_the_command_line_can_take_an_insecure_variable_back() -> None:
    environment = read_settings(["--no-nats-tls-insecure"], {"NATS_TLS_INSECURE": "1"}).environment
    assert environment["NATS_TLS_INSECURE"] is None
