"""The load of both demos: calm, peak, calm; prompts share prefixes; the policy is swapped."""

from testbed.prompts import Phase, PromptMix
from testbed.session import Scenario, Swap

SCENARIO = Scenario(
    phases=(Phase("calm", 6, 150), Phase("peak", 96, 1200), Phase("calm again", 6, 150)),
    # 48 prefixes of 64 blocks each, where a worker's cache holds 16 of them: it matters who gets
    # which prompt.
    mix=PromptMix(
        templates=48, zipf_exponent=1.0, prefix_tokens=4096, tail_tokens=128, answer_tokens=16
    ),
    swaps=(
        # At rest, and when the peak begins, which also fills the caches: the cheapest worker, a
        # block to compute as dear as a block held.
        Swap(0, temperature=0.0, prefill_weight=1.0),
        # Amid the peak: to where the prefix is cached, ...
        Swap(450, temperature=0.0, prefill_weight=5.0),
        # ... to anywhere, ...
        Swap(750, temperature=0.7, prefill_weight=1.0),
        # ... and back, for comparison, with caches as full as they were for the two before.
        Swap(1050, temperature=0.0, prefill_weight=1.0),
        # Between the phases.
        Swap(1350, temperature=0.0, prefill_weight=5.0),
    ),
    seed=7,
)

WHAT_TO_LOOK_AT = (
    "What to look at: the cache overlap in the rows of the peak, the first of which also fills the "
    "caches. It is one load, and nothing was restarted. With ω = 5 prompts go where their prefix "
    "is cached, and the overlap rises; with τ = 0.7 they spread, and it falls; with the first "
    "policy again it recovers. TTFT goes the other way, for there is less or more to compute."
)
