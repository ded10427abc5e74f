"""Command lines and environments of Dynamo's processes."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from testbed.model import MODEL_NAME
from testbed.topology import Topology, WorkerModel

LOOPBACK = "127.0.0.1"

_MOCKER_ROLE = {"aggregated": "agg", "prefill": "prefill", "decode": "decode"}
_HOST_VARIABLES = (
    "DYN_HTTP_HOST",
    "DYN_TCP_RPC_HOST",
    "DYN_SYSTEM_HOST",
    "DYN_EVENT_PLANE_HOST",
    "DYN_TCP_RESPONSE_STREAM_HOST",
)
_FOREIGN_SETTINGS = ("DYN_", "DYNAMO_REGIME_", "NATS_", "ETCD_")


@dataclass(frozen=True, slots=True)
class FrontendCommand:
    """A frontend to start: ``python -m <module> <arguments>``; the cluster adds where it listens.

    Attributes:
        module: ``dynamo.frontend`` for Dynamo's own, ``dynamo_regime.frontend`` for ours.
        arguments: Its flags.
        environment: Variables that it gets besides the cluster's.
        names_worker: Whether the client names the worker of each request (router mode ``direct``).
    """

    module: str
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    names_worker: bool = False

    @classmethod
    def stock(cls, router_mode: str, *arguments: str) -> "FrontendCommand":
        """Dynamo's own frontend, in the named router mode."""
        return cls(
            "dynamo.frontend",
            ("--router-mode", router_mode, *arguments),
            names_worker=router_mode == "direct",
        )

    @classmethod
    def regime(cls, policy_file: Path, admin_port: int, *arguments: str) -> "FrontendCommand":
        """Ours, routing by ``policy_file``, its admin listener on loopback without a token."""
        return cls(
            "dynamo_regime.frontend",
            (
                *("--router-mode", "kv"),
                *("--router-policy-config", str(policy_file)),
                *("--admin-port", str(admin_port)),
                *arguments,
            ),
        )


def router_policy(topology: Topology, temperature: float, prefill_weight: float) -> str:
    """A router-policy file, in Dynamo's own format, that routes every pool by the plug-in."""
    parameters = {"temperature": temperature, "prefill_weight": prefill_weight}
    selection: dict[str, object] = {role: f"{role}-router" for role in topology.workers}
    selection["instances"] = [
        {"name": f"{role}-router", "type": "regime", "parameters": parameters}
        for role in topology.workers
    ]
    return yaml.safe_dump({"worker_selection": selection}, sort_keys=False)


def mocker(role: str, workers: int, model: WorkerModel, model_folder: Path) -> tuple[str, ...]:
    """Arguments to Python for a mocker process that holds ``workers`` workers of one role."""
    flags: dict[str, object] = {
        "--model-path": model_folder,
        "--model-name": MODEL_NAME,
        "--num-workers": workers,
        "--disaggregation-mode": _MOCKER_ROLE[role],
        "--speedup-ratio": model.speedup,
        "--block-size": model.block_size,
        "--num-gpu-blocks-override": model.cache_blocks,
    }
    return ("-m", "dynamo.mocker", *(str(part) for flag in flags.items() for part in flag))


def frontend(command: FrontendCommand, http_port: int) -> tuple[str, ...]:
    """Arguments to Python for a frontend on loopback."""
    return (
        "-m",
        command.module,
        "--http-host",
        LOOPBACK,
        "--http-port",
        str(http_port),
        *command.arguments,
    )


def environment(folder: Path, event_exchange_url: str) -> dict[str, str]:
    """The environment that all processes of one cluster share.

    Everything is found through files in ``folder`` and spoken over loopback; nothing is fetched
    from a model hub, and a developer's own Dynamo settings (all but the log level, ``DYN_LOG``)
    stay out of it.
    """
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN_SETTINGS)
    }
    return (
        inherited
        | dict.fromkeys(_HOST_VARIABLES, LOOPBACK)
        | {
            "DYN_DISCOVERY_BACKEND": "file",
            "DYN_FILE_KV": str(folder / "discovery"),
            "DYN_EVENT_PLANE": "zmq",
            "DYN_ZMQ_BROKER_URL": event_exchange_url,
            "DYN_SELF_HOST_METADATA": "0",
            "DYN_LOG": os.environ.get("DYN_LOG", "warn"),
            "DYN_SDK_DISABLE_ANSI_LOGGING": "1",
            "HF_HUB_OFFLINE": "1",
            # Dynamo copies model folders to ~/.cache/dynamo, and leaves temporary files behind.
            "HOME": str(folder),
            "TMPDIR": str(folder),
        }
    )
