"""The cluster with Dynamo's own mocker and frontend."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed.cluster import Cluster
from testbed.commands import FrontendCommand
from testbed.process import ClusterError
from testbed.topology import Topology, WorkerModel

pytestmark = pytest.mark.stock

FAST = WorkerModel(speedup=100.0, block_size=16, cache_blocks=512)
LISTENING = "0A"


def listening_addresses(pid: int) -> Iterator[str]:
    """Addresses that a process listens on, as the kernel writes them."""
    sockets = set()
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        try:
            sockets.add(str(descriptor.readlink()))
        except OSError:
            continue  # Closed while we looked.
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            columns = line.split()
            if columns[3] == LISTENING and f"socket:[{columns[9]}]" in sockets:
                yield columns[1].partition(":")[0]


def processes_of(cluster: Cluster) -> list[int]:
    """Every process whose environment names the cluster's folder."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            environment = (entry / "environ").read_bytes()
        except OSError:
            continue  # It ended, or is somebody else's.
        if str(cluster.folder).encode() in environment:
            found.append(int(entry.name))
    return found


@pytest.mark.parametrize(("text", "mode"), [("3", "kv"), ("3", "direct"), ("1P2D", "kv")])
def test_a_cluster_serves_listens_on_loopback_only_and_leaves_nothing(text: str, mode: str) -> None:
    topology = Topology.parse(text)
    with Cluster(topology, FAST) as cluster:
        frontend = cluster.start(FrontendCommand.stock(mode))
        roles = list(cluster.worker_ids(frontend).values())
        assert {role: roles.count(role) for role in roles} == topology.workers
        processes = processes_of(cluster)
        assert len(processes) == 1 + len(topology.workers)
        addresses = {address for pid in processes for address in listening_addresses(pid)}
        assert addresses == {"0100007F"}, "127.0.0.1, byte by byte from the right"
    assert not processes_of(cluster)
    assert not cluster.folder.exists()


def test_a_worker_that_is_killed_is_gone_and_the_others_serve() -> None:
    with Cluster(Topology.parse("2"), FAST, separate_workers=True) as cluster:
        frontend = cluster.start(FrontendCommand.stock("round-robin"))
        victim, survivor = cluster.worker_ids(frontend)
        cluster.kill_worker(frontend, victim)
        deadline = time.monotonic() + 60
        while victim in cluster.worker_ids(frontend) and time.monotonic() < deadline:
            time.sleep(0.2)
        assert list(cluster.worker_ids(frontend)) == [survivor]
        with pytest.raises(ClusterError, match=f"there is no worker {victim}"):
            cluster.kill_worker(frontend, victim)


def test_a_frontend_that_does_not_come_up_is_reported_with_its_own_words() -> None:
    cluster = Cluster(Topology.parse("1"), FAST)
    with cluster, pytest.raises(ClusterError, match="ended with exit code 2") as refusal:
        cluster.start(FrontendCommand.stock("no-such-mode"))
    assert "invalid choice: 'no-such-mode'" in str(refusal.value)
    assert not processes_of(cluster)


def test_an_exception_in_the_block_ends_the_processes_too() -> None:
    cluster = Cluster(Topology.parse("1"), FAST)
    with pytest.raises(ZeroDivisionError), cluster:
        _ = len(processes_of(cluster)) / 0
    assert not processes_of(cluster)
