"""The toll, its rivals and static settings on loads that nothing was tuned on, as Markdown.

``python -m examples.policies [SEEDS]``: means over the seeds, as changes against Dynamo's default.
"""

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import fmean

from dynamo_regime.sim import RIVALS, Simulation, simulate
from dynamo_regime.study.policy import Policy, parse_policy
from dynamo_regime.study.scenarios import Scenario, judged_by

POLICIES = ("0,1", "toll", *RIVALS, "0,0.1", "0,0.3", "0,3", "0,10")
MEASURES = ("mean TTFT", "TTFT P99", "mean latency")


def measured(scenario: Scenario, policy: Policy, seed: int) -> tuple[float, float, float]:
    """Mean TTFT, TTFT P99 and mean latency of one run, in seconds."""
    router = scenario.router.model_copy(
        update={
            "prefill_weight": policy.setting.prefill_weight,
            "toll": policy.toll,
            "rival": policy.rival,
        }
    )
    summary = simulate(Simulation(scenario.cluster, router, scenario.workload, seed)).summary
    ttft, latency = summary.ttft_seconds, summary.latency_seconds
    if ttft is None or latency is None:
        raise SystemExit(f"{scenario.name}: no request finished")
    return ttft.mean, ttft.p99, latency.mean


def main(seeds: int) -> None:
    """Run everything and print one table a measure."""
    policies = [parse_policy(text, Path()) for text in POLICIES]
    scenarios = judged_by()
    runs = [(s, p, seed) for s in scenarios for p in policies for seed in range(seeds)]
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda run: measured(*run), runs))
    for number, measure in enumerate(MEASURES):
        print(f"\n| {measure} | default, s | " + " | ".join(POLICIES[1:]) + " |")
        print("| --- " * (len(POLICIES) + 1) + "|")
        for row, scenario in enumerate(scenarios):
            begin = row * len(policies) * seeds
            means = [
                fmean(run[number] for run in found[begin + i * seeds : begin + (i + 1) * seeds])
                for i in range(len(policies))
            ]
            changes = " | ".join(f"{100 * (mean / means[0] - 1):+.0f} %" for mean in means[1:])
            print(f"| {scenario.name} | {means[0]:.3g} | {changes} |")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
