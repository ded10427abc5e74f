"""Flags of Dynamo's KV-router configuration, which the plug-in takes its defaults from."""

from collections.abc import Callable

from dynamo_regime.frontend.flags.flag import (
    Flag,
    Goes,
    Value,
    flag,
    integer,
    json_object,
    number,
    optional,
    text,
    truth,
)


def _kv(
    names: str,
    variables: str,
    default: Value,
    help_sentence: str,
    *,
    read: Callable[[str], Value] = text,
    choices: tuple[str, ...] = (),
    key: str | None = None,
) -> Flag:
    return flag(
        names,
        variables,
        default,
        help_sentence,
        read=read,
        choices=choices,
        key=key,
        goes=Goes.KV_ROUTER,
    )


COST = (
    _kv(
        "--router-temperature",
        "DYN_ROUTER_TEMPERATURE",
        0.0,
        "Temperature τ that pools start with; 0 takes the cheapest worker.",
        read=number,
    ),
    _kv(
        "--router-prefill-load-scale",
        "DYN_ROUTER_PREFILL_LOAD_SCALE",
        1.0,
        "Prefill weight ω that pools start with.",
        read=number,
        key="prefill_load_scale",
    ),
    _kv(
        "--router-kv-overlap-score-weight --kv-overlap-score-weight",
        "DYN_ROUTER_KV_OVERLAP_SCORE_WEIGHT DYN_OVERLAP_SCORE_WEIGHT",
        None,
        "Older spelling of --router-prefill-load-scale, where 0 also ignores the cache.",
        read=number,
        key="overlap_score_weight",
    ),
    _kv(
        "--router-kv-overlap-score-credit",
        "DYN_ROUTER_KV_OVERLAP_SCORE_CREDIT",
        1.0,
        "Blocks of prefill that a block cached on the worker's device saves.",
        read=number,
        key="overlap_score_credit",
    ),
    _kv(
        "--router-kv-overlap-score-credit-decay",
        "DYN_ROUTER_KV_OVERLAP_SCORE_CREDIT_DECAY",
        0.0,
        "How fast that credit falls with a worker's prefill backlog above the least one; 1 halves "
        "it at one request more.",
        read=number,
        key="overlap_score_credit_decay",
    ),
    _kv(
        "--router-host-cache-hit-weight",
        "DYN_ROUTER_HOST_CACHE_HIT_WEIGHT",
        0.75,
        "The same credit for a block in host memory, 0 to 1.",
        read=number,
        key="host_cache_hit_weight",
    ),
    _kv(
        "--router-disk-cache-hit-weight",
        "DYN_ROUTER_DISK_CACHE_HIT_WEIGHT",
        0.25,
        "The same credit for a block on disk, 0 to 1.",
        read=number,
        key="disk_cache_hit_weight",
    ),
    _kv(
        "--shared-cache-multiplier",
        "DYN_SHARED_CACHE_MULTIPLIER",
        None,
        "The same credit for a block in the shared cache, 0 to 1. Experimental.",
        read=number,
    ),
    _kv(
        "--shared-cache-type",
        "DYN_SHARED_CACHE_TYPE",
        "none",
        "Shared cache to ask for hits: none, or SGLang's hicache. Experimental.",
        choices=("none", "hicache"),
    ),
    _kv(
        "--router-decode-active-request-weight",
        "DYN_ROUTER_DECODE_ACTIVE_REQUEST_WEIGHT",
        0.0,
        "Blocks that each running request adds to a worker's cost. Experimental.",
        read=number,
        key="decode_active_request_weight",
    ),
)

INDEX = (
    _kv(
        "--router-kv-events --kv-events",
        "DYN_ROUTER_USE_KV_EVENTS",
        True,
        "Learn from workers what they cache; otherwise guess it from what was routed.",
        read=truth,
        key="use_kv_events",
    ),
    _kv(
        "--router-ttl-secs",
        "DYN_ROUTER_TTL_SECS",
        120.0,
        "Seconds for which a guessed block counts as cached (--no-router-kv-events).",
        read=number,
    ),
    flag(
        "--router-approximate-cache-policy",
        "DYN_ROUTER_APPROXIMATE_CACHE_POLICY",
        "ttl",
        "How guessed blocks are forgotten: after that time, or the least recent at the worker's "
        "capacity. Experimental.",
        choices=("ttl", "lru"),
    ),
    _kv(
        "--router-predicted-ttl-secs",
        "DYN_ROUTER_PREDICTED_TTL_SECS",
        None,
        "Besides events, guess for so many seconds that what was routed is cached.",
        read=number,
    ),
    _kv(
        "--router-event-threads",
        "DYN_ROUTER_EVENT_THREADS",
        4,
        "Threads of the cache index.",
        read=integer(),
    ),
    _kv(
        "--serve-indexer",
        "DYN_SERVE_INDEXER",
        False,
        "Let other routers ask this one's cache index.",
        read=truth,
    ),
    _kv(
        "--use-remote-indexer",
        "DYN_USE_REMOTE_INDEXER",
        False,
        "Ask another process's cache index instead of keeping one. Experimental.",
        read=truth,
    ),
    _kv(
        "--enable-session-prefix-index",
        "DYN_ENABLE_SESSION_PREFIX_INDEX",
        False,
        "Remember the blocks of each session beyond their eviction. Experimental, not yet used.",
        read=truth,
    ),
)

TRACKING = (
    _kv(
        "--router-track-active-blocks --track-active-blocks",
        "DYN_ROUTER_TRACK_ACTIVE_BLOCKS",
        True,
        "Count the blocks of running requests as load.",
        read=truth,
    ),
    _kv(
        "--router-track-output-blocks --track-output-blocks",
        "DYN_ROUTER_TRACK_OUTPUT_BLOCKS",
        False,
        "Count the blocks of answers too while they grow.",
        read=truth,
    ),
    _kv(
        "--router-track-prefill-tokens",
        "DYN_ROUTER_TRACK_PREFILL_TOKENS",
        True,
        "Count the prompt tokens in prefill as load.",
        read=truth,
    ),
    _kv(
        "--router-assume-kv-reuse --assume-kv-reuse",
        "DYN_ROUTER_ASSUME_KV_REUSE",
        True,
        "Count a block that running requests share once.",
        read=truth,
    ),
    _kv(
        "--router-replica-sync",
        "DYN_ROUTER_REPLICA_SYNC",
        False,
        "Share the running requests with the other frontends, as far as events get through.",
        read=truth,
    ),
    _kv(
        "--router-tracking-hash",
        "DYN_ROUTER_TRACKING_HASH",
        "public-xxh3-v1",
        "Hash that running requests' blocks are told apart by.",
        choices=("public-xxh3-v1", "keyed-xxh3-v1"),
    ),
    _kv(
        "--router-tracking-key-file",
        "DYN_ROUTER_TRACKING_KEY_FILE",
        None,
        "File with the 32 bytes of that hash's key.",
    ),
    _kv(
        "--router-tracking-key-id",
        "DYN_ROUTER_TRACKING_KEY_ID",
        None,
        "Name of that key's epoch.",
    ),
)

QUEUE = (
    _kv(
        "--router-queue-threshold",
        "DYN_ROUTER_QUEUE_THRESHOLD",
        None,
        "Queue requests while every worker's prefill is beyond this multiple of its largest batch; "
        "None is never. Goes with Dynamo 1.7: use policy_classes in the router-policy file.",
        read=optional(number),
    ),
    _kv(
        "--router-queue-policy",
        "DYN_ROUTER_QUEUE_POLICY",
        "fcfs",
        "Order of that queue: first come, or shortest weighted work. Goes with Dynamo 1.7 too.",
        choices=("fcfs", "wspt"),
    ),
    _kv(
        "--router-conditional-disagg",
        "DYN_ROUTER_CONDITIONAL_DISAGG",
        False,
        "Let a decode worker prefill a request itself where that is better. Experimental.",
        read=truth,
        key="conditional_disagg_enabled",
    ),
    flag(
        "--router-conditional-disagg-config",
        "DYN_ROUTER_CONDITIONAL_DISAGG_CONFIG",
        None,
        "When it is better, as a JSON object: policy, eff_isl_threshold, eff_isl_ratio_threshold, "
        "prefill_busy_threshold, decode_busy_threshold.",
        read=json_object,
        key="conditional_disagg_config",
        goes=Goes.LAUNCHER,
    ),
    flag(
        "--load-aware",
        "DYN_ROUTER_LOAD_AWARE",
        False,
        "Route by load only: no events, no index, no credit for what is cached. Goes with Dynamo "
        "1.7: set it in the router-policy file.",
        read=truth,
        goes=Goes.LAUNCHER,
    ),
)
