"""What a frontend is started with, from the values of its flags."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dynamo_regime.errors import InputError
from dynamo_regime.frontend.flags import CARRIED
from dynamo_regime.frontend.flags.flag import Goes, Value
from dynamo_regime.frontend.flags.parser import parse

# What --load-aware sets, whatever the flags say; the router-policy file still wins.
_LOAD_AWARE: dict[str, Value] = {
    "overlap_score_credit": 0.0,
    "use_kv_events": False,
    "router_track_active_blocks": True,
    "router_assume_kv_reuse": False,
    "router_track_prefill_tokens": True,
    "use_remote_indexer": False,
    "serve_indexer": False,
    "shared_cache_multiplier": 0.0,
    "shared_cache_type": "none",
    "router_predicted_ttl_secs": None,
}
_CONDITIONAL_DISAGGREGATION = frozenset(
    {
        "policy",
        "eff_isl_threshold",
        "eff_isl_ratio_threshold",
        "prefill_busy_threshold",
        "decode_busy_threshold",
    }
)


@dataclass(frozen=True, slots=True)
class Settings:
    """All that starting a frontend needs to know.

    Attributes:
        options: What the native frontend takes, under the names that it knows.
        environment: Variables to set for Dynamo's runtime; None is to be unset.
        url: Where the OpenAI API will be.
        admin_host: Address of the admin listener.
        admin_port: Port of the admin listener; 0 for none.
    """

    options: dict[str, object]
    environment: dict[str, str | None]
    url: str
    admin_host: str
    admin_port: int


def read_settings(arguments: Sequence[str], environment: Mapping[str, str]) -> Settings:
    """Settings from a command line and an environment.

    Raises:
        InputError: A value, or two together, cannot be used.
    """
    values = parse(arguments, environment)
    _check_tls(values)
    options: dict[str, object] = {
        # Dynamo's own frontend takes an empty text for one that is not there, too.
        key: None if value == "" else value
        for key, value in _values_going(Goes.HOST, values).items()
    }
    if not str(values["metrics_prefix"] or "").strip():
        options["metrics_prefix"] = None
    options["load_thresholds"] = _values_going(Goes.LOAD_THRESHOLDS, values)
    options["kv_router"] = _kv_router(values)
    scheme = "http" if values["tls_cert_path"] is None else "https"
    return Settings(
        options=options,
        environment={
            name: text
            for flag in CARRIED
            if flag.goes is Goes.ENVIRONMENT
            for name, text in [(flag.variables[0], _as_variable(values[flag.key]))]
        },
        url=f"{scheme}://{values['http_host']}:{values['http_port']}",
        admin_host=str(values["admin_host"]),
        admin_port=int(str(values["admin_port"])),
    )


def _values_going(destination: Goes, values: Mapping[str, Value]) -> dict[str, Value]:
    return {flag.key: values[flag.key] for flag in CARRIED if flag.goes is destination}


def _kv_router(values: Mapping[str, Value]) -> dict[str, Value]:
    config = _values_going(Goes.KV_ROUTER, values)
    if values["load_aware"]:
        config |= _LOAD_AWARE
    conditions = values["conditional_disagg_config"]
    if isinstance(conditions, dict):
        if not values["conditional_disagg_enabled"]:
            raise InputError(
                "--router-conditional-disagg-config does nothing without "
                "--router-conditional-disagg: give both or neither"
            )
        unknown = sorted(conditions.keys() - _CONDITIONAL_DISAGGREGATION)
        if unknown:
            raise InputError(
                f"--router-conditional-disagg-config has no field {', '.join(unknown)}: "
                f"it has {', '.join(sorted(_CONDITIONAL_DISAGGREGATION))}"
            )
        for name, value in conditions.items():
            config[f"conditional_disagg_{name}"] = value  # type: ignore[assignment]
    return config


def _check_tls(values: Mapping[str, Value]) -> None:
    certificate, key = values["tls_cert_path"], values["tls_key_path"]
    if (certificate is None) != (key is None):
        raise InputError("--tls-cert-path and --tls-key-path are given together or not at all")
    if values["tls_client_ca_cert_path"] is not None and certificate is None:
        raise InputError("--tls-client-ca-cert-path needs --tls-cert-path and --tls-key-path")
    for flag in CARRIED:
        path = values[flag.key]
        if flag.key.startswith("tls_") and path is not None and not Path(str(path)).is_file():
            raise InputError(f"{flag.name} must be a file, but {path!r} is none")


def _as_variable(value: Value) -> str | None:
    if isinstance(value, bool):
        return "1" if value else None
    return None if value is None or value == "" else str(value)
