"""A linked frontend on mocker workers, with its admin listener, for a test module."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from dynamo_regime.admin.client import AdminClient
from testbed.cluster import Cluster, Frontend, free_port
from testbed.commands import LOOPBACK, FrontendCommand, router_policy
from testbed.outcome import Outcome
from testbed.prompts import Phase, PromptMix
from testbed.session import Scenario, Session, Swap
from testbed.topology import Topology, WorkerModel

# Fast enough for thousands of requests in a minute, and with room in every worker for all prefixes.
WORKERS = WorkerModel(speedup=20.0, block_size=64, cache_blocks=2048)
MIX = PromptMix(
    templates=16, zipf_exponent=0.5, prefix_tokens=1024, tail_tokens=64, answer_tokens=8
)


@dataclass(frozen=True, slots=True)
class Served:
    """What a test needs to ask of a running deployment."""

    cluster: Cluster
    frontend: Frontend
    admin: AdminClient


@contextmanager
def serve(topology: Topology, temperature: float, prefill_weight: float) -> Iterator[Served]:
    """Start workers and the linked frontend, every pool under this policy."""
    with Cluster(topology, WORKERS) as cluster:
        policy_file = cluster.folder / "router-policy.yaml"
        policy_file.write_text(router_policy(topology, temperature, prefill_weight))
        port = free_port()
        frontend = cluster.start(FrontendCommand.regime(policy_file, port))
        with AdminClient(f"http://{LOOPBACK}:{port}", token=None) as admin:
            yield Served(cluster, frontend, admin)


# One at a time, so that each prefix has been computed, and is known to be, before it comes again:
# else several workers compute it at once, and it has several homes.
WARM_UP = Phase("warm-up", 1, 100)


def send(
    served: Served, swaps: Sequence[Swap], requests: int, pool: str | None = None
) -> list[Outcome]:
    """Warm up, then send ``requests``, sixteen at a time; the pool's policy is swapped on the way.

    Swaps count requests from the first of the warm-up.

    Returns:
        What came of all requests, the warm-up's included.
    """

    async def swap(change: Swap) -> int:
        policies = await asyncio.to_thread(
            served.admin.set_policy,
            temperature=change.temperature,
            prefill_weight=change.prefill_weight,
            pool=pool,
        )
        return max(policy.version for policy in policies)

    scenario = Scenario((WARM_UP, Phase("steady", 16, requests)), MIX, tuple(swaps), seed=11)
    session = Session(served.frontend.url, scenario, swap)
    asyncio.run(session.run())
    return session.outcomes


def loyalty(outcomes: Sequence[Outcome]) -> float:
    """Share of requests that went to the prefill worker that their prefix mostly goes to."""
    workers: dict[int, Counter[int | None]] = defaultdict(Counter)
    for one in outcomes:
        workers[one.template][one.prefill_worker] += 1
    favourites = sum(counts.most_common(1)[0][1] for counts in workers.values())
    return favourites / len(outcomes)
