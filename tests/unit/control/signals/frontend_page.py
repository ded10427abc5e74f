"""A made-up ``/metrics`` page with the names and labels that Dynamo 1.6.1 uses."""

from dataclasses import dataclass, field

BOUNDS = (0.0, 0.1, 1.0, 10.0)


@dataclass
class FrontendPage:
    """Totals since the frontend started."""

    ttft: list[float] = field(default_factory=list)
    itl: list[float] = field(default_factory=list)
    decisions: int = 0
    prompt_tokens: int = 0
    chosen_tokens: int = 0
    best_tokens: int = 0
    workers: dict[tuple[int, str], tuple[float, float]] = field(default_factory=dict)
    queued: int | None = None
    kv_blocks: dict[str, int] = field(default_factory=dict)
    prefix: str = "dynamo_frontend"

    def text(self) -> str:
        lines = [
            f"# TYPE {self.prefix}_disconnected_clients gauge",
            f"{self.prefix}_disconnected_clients 0",
            f'{self.prefix}_request_duration_seconds_bucket{{model="m",le="+Inf"}} 7',
        ]
        for name, samples in (
            (f"{self.prefix}_time_to_first_token_seconds", self.ttft),
            (f"{self.prefix}_inter_token_latency_seconds", self.itl),
            ("dynamo_component_router_time_to_first_token_seconds", [99.0]),
        ):
            if samples:
                lines += _histogram(name, samples)
        for model, total in self.kv_blocks.items():
            lines.append(f'{self.prefix}_model_total_kv_blocks{{model="{model}"}} {total}')
        for (worker, kind), (tokens, blocks) in self.workers.items():
            labels = f'{{dp_rank="0",worker_id="{worker}",worker_type="{kind}"}}'
            lines.append(f"dynamo_frontend_worker_active_prefill_tokens{labels} {tokens}")
            lines.append(f"dynamo_frontend_worker_active_decode_blocks{labels} {blocks}")
        if self.queued is not None:
            labels = '{model="m",policy_class="default",worker_type="decode"}'
            lines.append(f"dynamo_frontend_router_queue_pending_requests{labels} {self.queued}")
        if self.decisions:
            labels = '{model="m",policy_class="default",worker_type="decode"}'
            name = "dynamo_frontend_router_admission_received_total"
            lines.append(f"{name}{labels} {self.decisions}")
            for phase, share in (("prefill", 1), ("decode", 0)):
                labels = f'{{dynamo_component="backend",model="m",phase="{phase}"}}'
                router = "dynamo_component_router"
                lines += [
                    f"{router}_input_sequence_tokens_sum{labels} {self.prompt_tokens}",
                    f"{router}_kv_selected_cached_prefix_tokens_total{labels}"
                    f" {share * self.chosen_tokens}",
                    f"{router}_kv_best_eligible_cached_prefix_tokens_total{labels}"
                    f" {share * self.best_tokens}",
                ]
        return "\n".join(lines) + "\n"


def _histogram(name: str, samples: list[float]) -> list[str]:
    bounds = [(f"{bound:g}", bound) for bound in BOUNDS] + [("+Inf", float("inf"))]
    buckets = [
        f'{name}_bucket{{model="m",le="{text}"}} {sum(sample <= bound for sample in samples)}'
        for text, bound in bounds
    ]
    return [*buckets, f'{name}_sum{{model="m"}} {sum(samples)}']
