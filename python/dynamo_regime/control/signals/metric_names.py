"""The metrics of Dynamo 1.6.1 that readings are made of.

A frontend's own metrics can be renamed (``DYN_METRICS_PREFIX``); those of the router and of the
workers' load keep their names, whatever the prefix. Read off dynamo-llm 1.6.1:
``http/service/metrics.rs`` and ``kv_router/metrics.rs``.
"""

from dataclasses import dataclass

DEFAULT_PREFIX = "dynamo_frontend"

WORKER_PREFILL_TOKENS = "dynamo_frontend_worker_active_prefill_tokens"
WORKER_DECODE_BLOCKS = "dynamo_frontend_worker_active_decode_blocks"
QUEUE_LENGTH = "dynamo_frontend_router_queue_pending_requests"
DECISIONS = "dynamo_frontend_router_admission_received_total"
CHOSEN_TOKENS = "dynamo_component_router_kv_selected_cached_prefix_tokens_total"
BEST_TOKENS = "dynamo_component_router_kv_best_eligible_cached_prefix_tokens_total"
PROMPT_TOKENS = "dynamo_component_router_input_sequence_tokens_sum"

COUNTERS = (DECISIONS, CHOSEN_TOKENS, BEST_TOKENS, PROMPT_TOKENS)
WORKER_GAUGES = (WORKER_PREFILL_TOKENS, WORKER_DECODE_BLOCKS)


@dataclass(frozen=True, slots=True)
class FrontendNames:
    """Those that carry the frontend's prefix."""

    ttft: str
    itl: str
    kv_blocks: str

    @classmethod
    def of(cls, prefix: str) -> "FrontendNames":
        """With ``prefix``, which has no underscore at its end."""
        return cls(
            ttft=f"{prefix}_time_to_first_token_seconds",
            itl=f"{prefix}_inter_token_latency_seconds",
            kv_blocks=f"{prefix}_model_total_kv_blocks",
        )


def pool_of(worker_type: str, *, disaggregated: bool) -> str:
    """The pool that a ``worker_type`` label means: aggregated workers are labelled decode too."""
    return "aggregated" if worker_type == "decode" and not disaggregated else worker_type
