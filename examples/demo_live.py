"""``make demo-live``: the load of ``make demo`` on Dynamo's frontend with the plug-in linked in.

The frontend routes by itself, at native speed; (τ, ω) are swapped through its admin API while
requests are under way. All of it is on loopback and ends with this program.
"""

from pathlib import Path
from typing import Annotated

import typer

from dynamo_regime.admin.client import AdminClient
from examples.scenario import SCENARIO, WHAT_TO_LOOK_AT
from examples.show import announce, check_writable, console, plain_endings, show
from testbed.cluster import Cluster, free_port
from testbed.commands import FrontendCommand, router_policy
from testbed.session import Session, Swap
from testbed.topology import Topology, WorkerModel

# Speeds at which the peak is more than the workers answer without a queue. A lone prefill worker
# has all prompts to itself, and is the faster for it.
AGGREGATED_WORKERS = WorkerModel(speedup=0.5, block_size=64, cache_blocks=1024)
DISAGGREGATED_WORKERS = WorkerModel(speedup=2.0, block_size=64, cache_blocks=1024)

_DISAGGREGATED = (
    "What to look at: TTFT beside ITL. At the peak the prompts queue for prefill, and TTFT grows "
    "many times over, while ITL hardly moves. A lone prefill worker gets every prompt whatever the "
    "policy, and Dynamo's decode routing heeds no cache, so that (τ, ω) change little here; what "
    "they change is seen with TOPOLOGY=8."
)


def main(
    topology_text: Annotated[
        str, typer.Argument(metavar="TOPOLOGY", help="8 (aggregated workers) or 1P5D.")
    ] = "8",
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write the summary to this file, as JSON.")
    ] = None,
) -> None:
    """Put a three-phase load on the linked frontend and swap the policy under load."""
    check_writable(json_file)
    try:
        topology = Topology.parse(topology_text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    workers = DISAGGREGATED_WORKERS if topology.disaggregated else AGGREGATED_WORKERS
    console.print(
        f"Starting {topology.total} Dynamo mocker workers ({topology}) and Dynamo's frontend with "
        "the plug-in on loopback."
    )
    with plain_endings(), Cluster(topology, workers) as cluster:
        start = SCENARIO.swaps[0]
        policy_file = cluster.folder / "router-policy.yaml"
        policy_file.write_text(router_policy(topology, start.temperature, start.prefill_weight))
        admin_port = free_port()
        frontend = cluster.start(FrontendCommand.regime(policy_file, admin_port))
        with AdminClient(f"http://127.0.0.1:{admin_port}", token=None) as admin:

            async def swap(change: Swap) -> int:
                # Blocking, so that its time is the round trip alone, not the load's turns between.
                policies = admin.set_policy(
                    temperature=change.temperature, prefill_weight=change.prefill_weight
                )
                return max(policy.version for policy in policies)

            pools = " and ".join(policy.pool for policy in admin.policies())
            console.print(
                f"{frontend.url} serves. Its admin API, on port {admin_port}, swaps the policy of "
                f"the {pools} workers."
            )
            session = Session(frontend.url, SCENARIO, swap, on_swap=announce)
            show(session, disaggregated=topology.disaggregated, json_file=json_file)
    console.print(_DISAGGREGATED if topology.disaggregated else WHAT_TO_LOOK_AT)


if __name__ == "__main__":
    typer.run(main)
