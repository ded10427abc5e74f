"""Flags of Dynamo's Python frontend that this one does not carry, and what to use instead."""

from collections.abc import Callable
from dataclasses import dataclass

from dynamo_regime.frontend.flags.flag import Flag, Value, flag, integer, text, truth, words


@dataclass(frozen=True, slots=True)
class Refusal:
    """A flag that may only say what this frontend does anyway, which is its default.

    Attributes:
        flag: The flag.
        instead: What to do instead, in a clause.
    """

    flag: Flag
    instead: str


def _refuse(
    names: str,
    variables: str,
    default: Value,
    instead: str,
    *,
    read: Callable[[str], Value] = text,
    choices: tuple[str, ...] = (),
    repeated: bool = False,
    key: str | None = None,
) -> Refusal:
    refused = flag(
        names, variables, default, "", read=read, choices=choices, repeated=repeated, key=key
    )
    return Refusal(refused, instead)


_OTHER_FRONTEND = "start python -m dynamo.frontend for it"
_RUST_PREPROCESSOR = "prompts are prepared by Dynamo's Rust preprocessor; leave it out"
_NO_LOAD_MODEL = "prefill load is counted, not predicted; leave it out"

_READ_INTEGER = integer()

REFUSED = (
    _refuse(
        "--router-mode",
        "DYN_ROUTER_MODE",
        "kv",
        f"the plug-in needs KV routing, which is the default here; leave it out, or "
        f"{_OTHER_FRONTEND}",
        choices=(
            "round-robin",
            "random",
            "power-of-two",
            "kv",
            "direct",
            "least-loaded",
            "device-aware-weighted",
        ),
    ),
    _refuse(
        "-i --interactive",
        "DYN_INTERACTIVE",
        False,
        f"there is no chat in the terminal; {_OTHER_FRONTEND}",
        read=truth,
        key="interactive",
    ),
    _refuse(
        "--kserve-grpc-server",
        "DYN_KSERVE_GRPC_SERVER",
        False,
        f"it serves HTTP only; {_OTHER_FRONTEND}",
        read=truth,
    ),
    _refuse(
        "--grpc-metrics-port",
        "DYN_GRPC_METRICS_PORT",
        8788,
        "it serves HTTP only, with /metrics on --http-port; leave it out",
        read=_READ_INTEGER,
    ),
    _refuse(
        "--dump-config-to",
        "DYN_DUMP_CONFIG_TO",
        None,
        "it writes no configuration file; ask dynamo-regime status for the policies in force",
    ),
    _refuse(
        "--frontend-route-extension",
        "DYN_FRONTEND_ROUTE_EXTENSIONS",
        [],
        f"routes written in Python do not load into it; {_OTHER_FRONTEND}",
        read=words,
        repeated=True,
        key="frontend_route_extensions",
    ),
    _refuse(
        "--dyn-chat-processor",
        "DYN_CHAT_PROCESSOR",
        "dynamo",
        _RUST_PREPROCESSOR,
        choices=("dynamo", "vllm", "sglang"),
        key="chat_processor",
    ),
    _refuse(
        "--dyn-debug-perf",
        "DYN_DEBUG_PERF",
        False,
        _RUST_PREPROCESSOR,
        read=truth,
        key="debug_perf",
    ),
    _refuse(
        "--dyn-preprocess-workers",
        "DYN_PREPROCESS_WORKERS",
        0,
        _RUST_PREPROCESSOR,
        read=_READ_INTEGER,
        key="preprocess_workers",
    ),
    _refuse(
        "--trust-remote-code",
        "DYN_TRUST_REMOTE_CODE",
        False,
        _RUST_PREPROCESSOR,
        read=truth,
    ),
    _refuse(
        "--exclude-tools-when-tool-choice-none",
        "DYN_EXCLUDE_TOOLS_WHEN_TOOL_CHOICE_NONE",
        True,
        "the Rust preprocessor is told so by the worker; set it there",
        read=truth,
    ),
    _refuse(
        "--enforce-disagg",
        "DYN_ENFORCE_DISAGG",
        False,
        "Dynamo ignores it and goes by the roles of the workers; leave it out",
        read=truth,
    ),
    _refuse(
        "--admission-control",
        "DYN_ADMISSION_CONTROL",
        None,
        "Dynamo ignores it; set --active-decode-blocks-threshold, "
        "--active-prefill-tokens-threshold or --active-prefill-tokens-threshold-frac",
        choices=("token-capacity", "none"),
    ),
    _refuse(
        "--router-prefill-load-model",
        "DYN_ROUTER_PREFILL_LOAD_MODEL",
        "none",
        _NO_LOAD_MODEL,
        read=lambda value: "ais" if value == "aic" else value,
        choices=("none", "ais"),
    ),
    _refuse("--ais-perf-config", "DYN_AIS_PERF_CONFIG", None, _NO_LOAD_MODEL),
    *(
        _refuse(
            f"--ais-{name} --aic-{name}",
            f"DYN_AIS_{name.replace('-', '_').upper()}",
            default,
            _NO_LOAD_MODEL,
            read=read,
        )
        for name, default, read in (
            ("backend", None, text),
            ("system", None, text),
            ("backend-version", None, text),
            ("tp-size", None, _READ_INTEGER),
            ("model-path", None, text),
            ("moe-tp-size", None, _READ_INTEGER),
            ("moe-ep-size", None, _READ_INTEGER),
            ("attention-dp-size", None, _READ_INTEGER),
            ("nextn", None, _READ_INTEGER),
            ("nextn-accept-rates", None, text),
            ("mtp-seed", 42, _READ_INTEGER),
        )
    ),
)
