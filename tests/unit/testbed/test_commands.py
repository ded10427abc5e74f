from pathlib import Path

import pytest
import yaml

from testbed import commands
from testbed.commands import FrontendCommand
from testbed.topology import Topology, WorkerModel


def flags(arguments: tuple[str, ...]) -> dict[str, str]:
    """``-m module --flag value ...`` as a mapping."""
    return dict(zip(arguments[::2], arguments[1::2], strict=True))


def test_every_host_that_dynamo_binds_or_advertises_is_loopback(tmp_path: Path) -> None:
    environment = commands.environment(tmp_path, "xsub=... , xpub=...")
    hosts = {
        name: value
        for name, value in environment.items()
        if name.startswith("DYN_") and name.endswith("_HOST")
    }
    assert len(hosts) == 5
    assert set(hosts.values()) == {"127.0.0.1"}
    assert (
        flags(commands.frontend(FrontendCommand.stock("kv"), 20001))["--http-host"] == "127.0.0.1"
    )


def test_a_developers_own_dynamo_settings_stay_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DYN_NAMESPACE", "production")
    monkeypatch.setenv("NATS_SERVER", "nats://production:4222")
    monkeypatch.setenv("ETCD_ENDPOINTS", "http://production:2379")
    monkeypatch.setenv("DYN_LOG", "debug")
    environment = commands.environment(tmp_path, "")
    assert not [value for value in environment.values() if "production" in value]
    assert environment["DYN_LOG"] == "debug"


def test_nothing_is_looked_for_outside_of_the_clusters_folder(tmp_path: Path) -> None:
    environment = commands.environment(tmp_path, "")
    assert environment["HF_HUB_OFFLINE"] == "1"
    assert Path(environment["DYN_FILE_KV"]).parent == tmp_path
    assert Path(environment["HOME"]) == Path(environment["TMPDIR"]) == tmp_path


@pytest.mark.parametrize(
    ("role", "mode"), [("aggregated", "agg"), ("prefill", "prefill"), ("decode", "decode")]
)
def test_a_mocker_is_told_its_role_and_how_it_behaves(role: str, mode: str) -> None:
    model = WorkerModel(speedup=0.5, block_size=16, cache_blocks=2048)
    told = flags(commands.mocker(role, 3, model, Path("model")))
    assert told["-m"] == "dynamo.mocker"
    assert told["--disaggregation-mode"] == mode
    assert told["--num-workers"] == "3"
    assert told["--model-path"] == "model"
    assert (told["--speedup-ratio"], told["--block-size"], told["--num-gpu-blocks-override"]) == (
        "0.5",
        "16",
        "2048",
    )


def test_only_in_direct_mode_the_client_names_the_worker() -> None:
    assert FrontendCommand.stock("direct").names_worker
    assert not FrontendCommand.stock("kv").names_worker


@pytest.mark.parametrize("text", ["8", "1P5D"])
def test_the_router_policy_file_routes_every_pool_by_the_plug_in(text: str) -> None:
    topology = Topology.parse(text)
    document = yaml.safe_load(commands.router_policy(topology, 0.3, 2.0))["worker_selection"]
    instances = {one.pop("name"): one for one in document.pop("instances")}
    assert set(document) == set(topology.workers)
    for instance in document.values():
        assert instances[instance] == {
            "type": "regime",
            "parameters": {"temperature": 0.3, "prefill_weight": 2.0},
        }


def test_our_frontend_is_told_its_policy_file_and_its_admin_port() -> None:
    command = FrontendCommand.regime(Path("router-policy.yaml"), 9999, "--migration-limit", "3")
    told = flags(commands.frontend(command, 20001))
    assert told["-m"] == "dynamo_regime.frontend"
    assert told["--router-mode"] == "kv"
    assert told["--router-policy-config"] == "router-policy.yaml"
    assert told["--admin-port"] == "9999"
    assert told["--migration-limit"] == "3"
