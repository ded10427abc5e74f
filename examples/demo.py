"""``make demo``: a three-phase load on mocker workers, routed by a gateway of one's own.

Eight simulated workers, Dynamo's stock frontend in direct mode, and the gateway of ``gateway.py``
at the client's side, whose (τ, ω) is swapped while requests are under way. All of it is on loopback
and ends with this program.
"""

from pathlib import Path
from typing import Annotated

import typer

from dynamo_regime import Router
from examples.gateway import Gateway
from examples.scenario import SCENARIO, WHAT_TO_LOOK_AT
from examples.show import announce, check_writable, console, plain_endings, show
from testbed.cluster import Cluster
from testbed.commands import FrontendCommand
from testbed.session import Session, Swap
from testbed.topology import Topology, WorkerModel

# Half the mocker's speed: the peak's 96 requests under way are more than eight such workers answer
# without a queue.
WORKERS = WorkerModel(speedup=0.5, block_size=64, cache_blocks=1024)


def main(
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write the summary to this file, as JSON.")
    ] = None,
) -> None:
    """Route a three-phase load to eight simulated workers and swap the policy under load."""
    check_writable(json_file)
    console.print(
        "Starting 8 Dynamo mocker workers and Dynamo's stock frontend (direct mode) on loopback."
    )
    with plain_endings(), Cluster(Topology.parse("8"), WORKERS) as cluster:
        frontend = cluster.start(FrontendCommand.stock("direct"))
        start = SCENARIO.swaps[0]
        router = Router(
            temperature=start.temperature, prefill_weight=start.prefill_weight, seed=SCENARIO.seed
        )
        gateway = Gateway(
            router, sorted(cluster.worker_ids(frontend)), WORKERS.block_size, WORKERS.cache_blocks
        )

        async def swap(change: Swap) -> int:
            [policy] = router.swap(
                temperature=change.temperature, prefill_weight=change.prefill_weight
            )
            return policy.version

        console.print(
            f"{frontend.url} serves. A gateway with dynamo_regime.Router names the worker."
        )
        session = Session(frontend.url, SCENARIO, swap, gateway.route, announce)
        show(session, disaggregated=False, json_file=json_file)
    console.print(WHAT_TO_LOOK_AT, "How the selector is embedded: examples/gateway.py.")


if __name__ == "__main__":
    typer.run(main)
