"""Flags of the router, whatever it chooses workers by."""

from dynamo_regime.frontend.flags.flag import Goes, flag, integer, number, optional

_YEAR_SECONDS = 31_536_000

ROUTER = (
    flag(
        "--router-policy-config",
        "DYN_ROUTER_POLICY_CONFIG",
        None,
        "Router-policy file (YAML): each pool's policy, queues, and router settings, which win "
        "over flags. Where it names no policy, the plug-in routes as Dynamo does by default.",
        goes=Goes.KV_ROUTER,
    ),
    flag(
        "--router-prefill-policy",
        "DYN_ROUTER_PREFILL_POLICY",
        None,
        "Policy instance of prefill workers, before the router-policy file's. Goes with Dynamo "
        "1.7: use worker_selection.prefill there.",
    ),
    flag(
        "--router-decode-policy",
        "DYN_ROUTER_DECODE_POLICY",
        None,
        "Policy instance of decode workers, before the router-policy file's. Goes with Dynamo "
        "1.7: use worker_selection.decode there.",
    ),
    flag(
        "--router-min-initial-workers",
        "DYN_ROUTER_MIN_INITIAL_WORKERS",
        0,
        "Workers to wait for before the first request is routed.",
        read=integer(),
        key="min_initial_workers",
        goes=Goes.ENVIRONMENT,
    ),
    flag(
        "--router-session-affinity-ttl-secs",
        "DYN_ROUTER_SESSION_AFFINITY_TTL_SECS",
        None,
        "Keep a session at its worker until it was idle for so many seconds; off where not set.",
        read=integer(1, _YEAR_SECONDS),
        key="session_affinity_ttl_secs",
    ),
    flag(
        "--router-session-affinity-mode",
        "DYN_ROUTER_SESSION_AFFINITY_MODE",
        "hard",
        "Whether a session must go to its worker, or the policy only sees which one it was.",
        choices=("hard", "soft"),
        key="session_affinity_mode",
    ),
    flag(
        "--active-decode-blocks-threshold",
        "DYN_ACTIVE_DECODE_BLOCKS_THRESHOLD",
        None,
        "Share of a worker's KV-cache blocks (0 to 1) beyond which it is busy and refused; None "
        "is never.",
        read=optional(number),
        goes=Goes.LOAD_THRESHOLDS,
    ),
    flag(
        "--active-prefill-tokens-threshold",
        "DYN_ACTIVE_PREFILL_TOKENS_THRESHOLD",
        None,
        "Tokens in prefill beyond which a worker is busy and refused; None is never.",
        read=optional(integer(maximum=2**63 - 1)),
        goes=Goes.LOAD_THRESHOLDS,
    ),
    flag(
        "--active-prefill-tokens-threshold-frac",
        "DYN_ACTIVE_PREFILL_TOKENS_THRESHOLD_FRAC",
        None,
        "The same as a multiple of the worker's largest batch in tokens; None is never.",
        read=optional(number),
        goes=Goes.LOAD_THRESHOLDS,
    ),
)
