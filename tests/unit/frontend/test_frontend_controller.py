"""The controller's section in the router-policy file, from the file to its thread."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from dynamo_regime.control.checked import ConfigurationError
from dynamo_regime.control.settings import Mode
from dynamo_regime.control.signals import Prometheus
from dynamo_regime.errors import RegimeError
from dynamo_regime.frontend.controller import planned
from dynamo_regime.frontend.settings import Settings, read_settings

DYNAMOS = "worker_selection:\n  aggregated: r\n  instances:\n    - {name: r, type: regime}\n"


@pytest.fixture(autouse=True)
def no_trace(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No variable of Dynamo's request trace, neither before nor after."""
    for name in [name for name in os.environ if name.startswith(("DYN_", "DYNAMO_REGIME_"))]:
        monkeypatch.delenv(name)
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)


def settings(folder: Path, text: str) -> Settings:
    file = folder / "router-policy.yaml"
    file.write_text(text, encoding="utf-8")
    return read_settings(["--router-policy-config", str(file)], {})


def policy_file(settings: Settings) -> str | None:
    kv_router = settings.options["kv_router"]
    assert isinstance(kv_router, dict)
    path = kv_router["router_policy_config"]
    assert path is None or isinstance(path, str)
    return path


def test_without_a_section_nothing_changes(tmp_path: Path) -> None:
    given = settings(tmp_path, DYNAMOS)
    with planned(given) as plan:
        assert plan.settings is given
        assert plan.controller is None
    assert "DYN_REQUEST_TRACE" not in os.environ


def test_without_a_file_nothing_changes() -> None:
    given = read_settings([], {})
    with planned(given) as plan:
        assert (plan.settings, plan.controller) == (given, None)


def test_a_file_that_is_not_there_is_left_for_dynamo_to_name(tmp_path: Path) -> None:
    given = read_settings(["--router-policy-config", str(tmp_path / "missing")], {})
    with planned(given) as plan:
        assert plan.settings is given


def test_dynamos_part_lies_in_a_file_of_its_own_for_as_long_as_it_is_used(tmp_path: Path) -> None:
    with planned(settings(tmp_path, DYNAMOS + "regime_controller: {mode: act}\n")) as plan:
        path = policy_file(plan.settings)
        assert path is not None
        assert Path(path).read_text(encoding="utf-8") == DYNAMOS
        assert plan.controller is not None
        assert plan.controller.mode is Mode.ACT
        assert os.environ["DYN_REQUEST_TRACE"] == "1"
    assert not Path(path).exists()


def test_an_empty_section_is_a_controller_in_shadow(tmp_path: Path) -> None:
    with planned(settings(tmp_path, DYNAMOS + "regime_controller: {}\n")) as plan:
        assert plan.controller is not None
        assert plan.controller.mode is Mode.SHADOW


def test_mode_off_takes_the_section_out_and_starts_nothing(tmp_path: Path) -> None:
    with planned(settings(tmp_path, DYNAMOS + "regime_controller: {mode: off}\n")) as plan:
        path = policy_file(plan.settings)
        assert path is not None
        assert Path(path).read_text(encoding="utf-8") == DYNAMOS
        assert plan.controller is None
    assert "DYN_REQUEST_TRACE" not in os.environ


def test_a_file_with_the_section_only_leaves_dynamo_without_one(tmp_path: Path) -> None:
    with planned(settings(tmp_path, "regime_controller: {mode: shadow}\n")) as plan:
        assert policy_file(plan.settings) is None
        assert plan.controller is not None


@pytest.mark.parametrize(
    ("section", "named"),
    [
        ("{mode: maybe}", "mode"),
        ("{detector: {kind: magic}}", "magic"),
        ("{profile: missing.yaml}", "missing.yaml"),
        ("{detector: {kind: paper, ttft_p99_seconds: {transition: 2, saturated: 1}}}", "saturated"),
        ("[act]", "regime_controller"),
        ("{fleet: {lease_seconds: 0.1}}", "lease_seconds"),
        ("{fleets: {}}", "fleets"),
        ("{signals: {kind: nats}}", "signals.kind is 'nats'"),
        ("{signals: {kind: prometheus}}", "signals.url is missing"),
        ("{signals: {kind: prometheus, url: 'prometheus:9090'}}", "write http://host:port"),
        (
            "{profile: {schema: 1, name: p, pools: {default: {regimes:"
            " {normal: {temperature: 0, prefill_weight: 1}}}}}}",
            "transition is missing",
        ),
    ],
)
def test_a_wrong_section_stops_the_start_with_one_sentence_that_names_the_file(
    tmp_path: Path, section: str, named: str
) -> None:
    given = settings(tmp_path, DYNAMOS + f"regime_controller: {section}\n")
    with pytest.raises(ConfigurationError) as error, planned(given):
        pass
    assert str(tmp_path) in str(error.value)
    assert named in str(error.value)
    assert "\n" not in str(error.value)


def test_a_fleet_whose_nats_is_not_there_does_not_stop_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NATS_SERVER", "nats://127.0.0.1:9")
    with planned(settings(tmp_path, DYNAMOS + "regime_controller: {fleet: {}}\n")) as plan:
        assert plan.fleet is not None
        status = plan.fleet.status()
        assert not status.connected
        assert "check NATS_SERVER" in status.reason
        assert plan.fleet.orders().settings == {}
        assert "dynamo-regime-fleet" in {thread.name for thread in threading.enumerate()}
    assert "dynamo-regime-fleet" not in {thread.name for thread in threading.enumerate()}


def test_a_fleet_with_an_environment_that_cannot_be_used_stops_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NATS_SERVER", "localhost")
    given = settings(tmp_path, DYNAMOS + "regime_controller: {fleet: {}}\n")
    with pytest.raises(RegimeError, match="write nats://host:port"), planned(given):
        pass


def test_another_source_leaves_dynamos_request_trace_off(tmp_path: Path) -> None:
    section = "{signals: {kind: prometheus, url: 'http://127.0.0.1:9'}}"
    with planned(settings(tmp_path, DYNAMOS + f"regime_controller: {section}\n")) as plan:
        assert isinstance(plan.signals, Prometheus)
    assert "DYN_REQUEST_TRACE" not in os.environ


def test_an_authority_that_is_no_file_stops_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DYNAMO_REGIME_PROMETHEUS_CA", str(tmp_path / "missing.pem"))
    section = "{signals: {kind: prometheus, url: 'https://127.0.0.1:9'}}"
    given = settings(tmp_path, DYNAMOS + f"regime_controller: {section}\n")
    with (
        pytest.raises(RegimeError, match=r"regime_controller\.signals: .*missing\.pem"),
        planned(given),
    ):
        pass


def test_nats_is_loaded_only_for_a_fleet() -> None:
    parts = "frontend.controller", "admin.server", "control.metrics", "control.settings"
    imports = ", ".join(f"dynamo_regime.{part}" for part in parts)
    code = f"import sys, {imports}; sys.exit('nats' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_what_is_wrong_in_dynamos_part_is_told_by_the_name_of_the_users_file(
    tmp_path: Path,
) -> None:
    given = settings(tmp_path, DYNAMOS + "regime_controller: {}\n")
    with pytest.raises(RegimeError) as error, planned(given) as plan:
        raise RegimeError(f"{policy_file(plan.settings)}: no such policy")
    assert str(error.value) == f"{tmp_path / 'router-policy.yaml'}: no such policy"
