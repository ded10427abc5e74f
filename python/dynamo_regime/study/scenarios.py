"""The loads that policies are judged by, and those that the toll was tuned on.

Nothing that is judged by was tuned on: the conversation trace is split by its requests, and what is
drawn is drawn with other seeds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from dynamo_regime.sim import Cluster, Engine, MultiTurn, RouterSettings
from dynamo_regime.sim.systems import SYSTEMS
from dynamo_regime.sim.workload import ClosedLoop, Trace, Workload
from dynamo_regime.sim.workload.mooncake import conversation
from dynamo_regime.study.ramp import open_conversations, ramped

TUNED_ON_REQUESTS = 1000
"""The first requests of the conversation trace; the rest is judged by."""
_TUNED_ON_SEED = 100


@dataclass(frozen=True, slots=True)
class Scenario:
    """A load on a cluster.

    Attributes:
        name: For tables.
        cluster: The workers.
        workload: The requests; what is no trace is drawn anew with every seed.
        router: Replicas and lag.
    """

    name: str
    cluster: Cluster
    workload: Workload
    router: RouterSettings = field(default_factory=RouterSettings)


def eight(kv_blocks: int = 16_384) -> Cluster:
    """Eight of Dynamo's mockers with so many KV blocks of 64 tokens each."""
    arguments = {"engine": {"block_size": 64, "num_gpu_blocks": kv_blocks}}
    return Cluster.parse("8", Engine(arguments=arguments))


def zipf(requests_per_second: float) -> MultiTurn:
    """3,000 single requests with one of 200 prefixes each, which are popular by Zipf's law."""
    return MultiTurn(
        sessions=3000,
        turns=1,
        prefixes=200,
        zipf_exponent=1.0,
        prefix_tokens=4096,
        input_tokens=512.0,
        output_tokens=128.0,
        sessions_per_second=requests_per_second,
        think_seconds=0.0,
    )


def turns(sessions_per_second: float) -> MultiTurn:
    """300 conversations of eight turns, each of which waits for its answer."""
    return MultiTurn(
        sessions=300,
        turns=8,
        prefixes=20,
        zipf_exponent=1.0,
        prefix_tokens=2048,
        input_tokens=512.0,
        output_tokens=256.0,
        sessions_per_second=sessions_per_second,
        think_seconds=5.0,
    )


def judged_by() -> tuple[Scenario, ...]:
    """The scenarios of docs/results.md."""
    trace = conversation()
    unseen = _from_zero(trace.slice(TUNED_ON_REQUESTS, len(trace)))
    ramp, _ = ramped(unseen, 1.0, 9.0)
    stale = RouterSettings(kv_event_lag_seconds=1.0)
    four = RouterSettings(replicas=4, kv_event_lag_seconds=0.1)
    return (
        *(
            Scenario(f"conversation ×{speed}", eight(), replace(unseen, speed=float(speed)))
            for speed in (1, 2, 4, 6, 9)
        ),
        Scenario("conversation, ramp 1→9→1", eight(), ramp),
        *(Scenario(f"Zipf, {rate}/s", eight(), zipf(rate)) for rate in (16, 32, 50)),
        *(
            Scenario(f"Zipf, 50/s, {blocks:,} blocks", eight(blocks), zipf(50))
            for blocks in (6000, 4096, 1536)
        ),
        Scenario("multi-turn, 10/s", eight(), turns(10)),
        Scenario("multi-turn, 30/s, 3,072 blocks", eight(3072), turns(30)),
        *(Scenario(f"spike, {name}", system, ClosedLoop()) for name, system in SYSTEMS.items()),
        Scenario("conversation ×4 on 2P/6D", Cluster.parse("2P/6D"), replace(unseen, speed=4.0)),
        Scenario("Zipf, 50/s, events 1 s late", eight(), zipf(50), stale),
        Scenario("Zipf, 50/s, 4 routers, 0.1 s", eight(), zipf(50), four),
        Scenario("conversation ×4, events 1 s late", eight(), replace(unseen, speed=4.0), stale),
        Scenario("conversation ×4, 4 routers, 0.1 s", eight(), replace(unseen, speed=4.0), four),
    )


def tuned_on() -> tuple[Scenario, ...]:
    """Eleven loads that the toll's coefficients were chosen on."""
    trace = conversation().slice(0, TUNED_ON_REQUESTS)

    def drawn(load: MultiTurn, seed: int) -> Trace:
        return open_conversations(load, _TUNED_ON_SEED + seed)

    loads: Mapping[str, tuple[Cluster, Trace]] = {
        **{f"conversation ×{s}": (eight(), replace(trace, speed=float(s))) for s in (1, 4, 9, 14)},
        "Zipf, 50/s": (eight(), drawn(zipf(50), 0)),
        "Zipf, 80/s": (eight(), drawn(zipf(80), 0)),
        "Zipf, 50/s, 4,096 blocks": (eight(4096), drawn(zipf(50), 1)),
        "Zipf, 50/s, 1,536 blocks": (eight(1536), drawn(zipf(50), 2)),
        "multi-turn, 10/s": (eight(), drawn(turns(10), 0)),
        "multi-turn, 30/s": (eight(), drawn(turns(30), 0)),
        "multi-turn, 30/s, 2,048 blocks": (eight(2048), drawn(turns(30), 1)),
    }
    return tuple(Scenario(name, *load) for name, load in loads.items())


def _from_zero(trace: Trace) -> Trace:
    return replace(trace, arrival_seconds=trace.arrival_seconds - trace.arrival_seconds.min())
