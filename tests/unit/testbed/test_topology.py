import pytest

from testbed.topology import Topology


@pytest.mark.parametrize(
    ("text", "workers", "disaggregated", "canonical"),
    [
        ("8", {"aggregated": 8}, False, "8"),
        ("1P5D", {"prefill": 1, "decode": 5}, True, "1P5D"),
        (" 2p/3d ", {"prefill": 2, "decode": 3}, True, "2P3D"),
    ],
)
def test_a_topology_is_read_from_the_words_people_use(
    text: str, workers: dict[str, int], disaggregated: bool, canonical: str
) -> None:
    topology = Topology.parse(text)
    assert topology.workers == workers
    assert topology.total == sum(workers.values())
    assert topology.disaggregated is disaggregated
    assert str(topology) == canonical


@pytest.mark.parametrize("text", ["", "0", "1P", "5D", "0P5D", "1P0D", "eight", "-1", "8 workers"])
def test_anything_else_is_refused_by_name(text: str) -> None:
    with pytest.raises(
        ValueError, match="neither a number of workers, as 8, nor of the form 1P5D"
    ) as refusal:
        Topology.parse(text)
    assert repr(text) in str(refusal.value)
