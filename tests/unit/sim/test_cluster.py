import pytest

from dynamo_regime.control.checked import ConfigurationError, validated
from dynamo_regime.sim import Cluster, Engine, Lifetime, PoleModel, Pool, RouterSettings


def test_a_number_is_so_many_workers_that_prefill_and_decode() -> None:
    cluster = Cluster.parse("8")
    assert cluster == Cluster(aggregated=Pool(workers=8))
    assert cluster.workers == 8


@pytest.mark.parametrize("topology", ["1P/5D", "1P5D", "1p/5d"])
def test_xp_yd_is_a_pool_for_each_with_the_given_engine(topology: str) -> None:
    engine = Engine(arguments={"engine": {"block_size": 16}})
    cluster = Cluster.parse(topology, engine)
    assert cluster == Cluster(
        prefill=Pool(workers=1, engine=engine), decode=Pool(workers=5, engine=engine)
    )
    assert cluster.workers == 6


@pytest.mark.parametrize("topology", ["", "0", "-1", "1P", "5D", "0P/2D", "1P/0D", "8 workers"])
def test_what_is_no_topology_is_refused_with_an_example(topology: str) -> None:
    with pytest.raises(ConfigurationError, match=r"is no topology: write 8 .* or 1P/5D"):
        Cluster.parse(topology)


@pytest.mark.parametrize(
    "pools",
    [
        {},
        {"prefill": {"workers": 1}},
        {"aggregated": {"workers": 1}, "decode": {"workers": 1}},
    ],
)
def test_pools_that_make_no_cluster_are_refused(pools: dict[str, dict[str, int]]) -> None:
    with pytest.raises(ConfigurationError, match="either an aggregated pool, or a prefill and a"):
        validated(Cluster, pools, "file.yaml")


def test_a_cluster_is_the_same_after_a_round_trip_through_json() -> None:
    cluster = Cluster(
        prefill=Pool(
            workers=2,
            engine=Engine(
                arguments={"engine": {"block_size": 16, "max_num_seqs": None}},
                latency=PoleModel(a=0.001, b=0.02, d=4, n_sat=112, beta=1.2),
                prefill_load="in_flight",
            ),
            lifetimes=(Lifetime(worker=1, from_seconds=3), Lifetime(worker=0, until_seconds=9.5)),
        ),
        decode=Pool(workers=3),
    )
    assert Cluster.model_validate_json(cluster.model_dump_json()) == cluster
    written = cluster.model_dump(mode="json")
    assert written["prefill"]["lifetimes"][0]["until_seconds"] is None
    assert validated(Cluster, written, "file.yaml") == cluster


@pytest.mark.parametrize("key", ["router_temperature", "prefill_load_scale"])
def test_a_policy_is_written_in_one_place_only(key: str) -> None:
    with pytest.raises(ConfigurationError, match=f"config has the key {key}: write it as"):
        validated(RouterSettings, {"config": {key: 0.5}}, "file.yaml: router")


@pytest.mark.parametrize(
    ("field", "value"),
    [("temperature", -1), ("prefill_weight", float("nan")), ("kv_event_lag_seconds", "x")],
)
def test_a_router_setting_out_of_range_is_refused_by_name(field: str, value: object) -> None:
    with pytest.raises(ConfigurationError, match=f"^file.yaml: {field}: .* must be a finite"):
        validated(RouterSettings, {field: value}, "file.yaml")
