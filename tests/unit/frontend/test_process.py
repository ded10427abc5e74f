"""The process that the frontend runs in: open files, environment, discovery folder."""

import os
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from dynamo_regime.errors import InputError
from dynamo_regime.frontend.process import (
    check_discovery_folder,
    prepare_environment,
    raise_open_files_limit,
    trace_requests_in_process,
)

UNLIMITED = resource.RLIM_INFINITY


@pytest.fixture(autouse=True)
def environment() -> Iterator[None]:
    before = dict(os.environ)
    for name in [name for name in os.environ if name.startswith("DYN_")]:
        del os.environ[name]
    yield
    os.environ.clear()
    os.environ.update(before)


@pytest.mark.parametrize(
    ("limits", "target", "expected"),
    [
        ((1024, 65536), None, (8192, 65536)),
        ((1024, 4096), None, (4096, 4096)),
        ((1024, UNLIMITED), None, (8192, UNLIMITED)),
        ((1024, 65536), "20000", (20000, 65536)),
        ((16384, 65536), None, None),
        ((UNLIMITED, UNLIMITED), None, None),
        ((1024, 65536), "0", None),
        ((1024, 65536), "many", None),
    ],
)
def test_the_limit_of_open_files_only_rises_and_never_beyond_the_hard_one(
    monkeypatch: pytest.MonkeyPatch,
    limits: tuple[int, int],
    target: str | None,
    expected: tuple[int, int] | None,
) -> None:
    set_to: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits)
    monkeypatch.setattr(resource, "setrlimit", lambda _, new: set_to.append(new))
    if target is not None:
        os.environ["DYN_FRONTEND_FD_LIMIT_TARGET"] = target
    raise_open_files_limit()
    assert set_to == ([] if expected is None else [expected])


def test_a_forbidden_limit_of_open_files_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbid(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(resource, "getrlimit", lambda _: (1024, 65536))
    monkeypatch.setattr(resource, "setrlimit", forbid)
    raise_open_files_limit()


def test_changes_are_made_and_the_workers_status_port_is_left_to_the_worker() -> None:
    os.environ.update({"DYN_SYSTEM_PORT": "8081", "NATS_TLS_INSECURE": "1"})
    prepare_environment({"NATS_TLS_INSECURE": None, "DYN_TCP_TLS_KEY_PATH": "key.pem"})
    assert "DYN_SYSTEM_PORT" not in os.environ
    assert "NATS_TLS_INSECURE" not in os.environ
    assert os.environ["DYN_TCP_TLS_KEY_PATH"] == "key.pem"


def test_the_request_trace_costs_nothing_unless_it_is_asked_for() -> None:
    prepare_environment({})
    assert not any(name.startswith("DYN_REQUEST_TRACE") for name in os.environ)


def test_finished_requests_are_traced_in_memory_without_a_sink() -> None:
    trace_requests_in_process()
    assert os.environ["DYN_REQUEST_TRACE"] == "1"
    assert os.environ["DYN_REQUEST_TRACE_RECORDS"] == "request_end"
    assert os.environ["DYN_REQUEST_TRACE_SINKS"] == "memory"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DYN_REQUEST_TRACE", "0"),
        ("DYN_REQUEST_TRACE_SINKS", "stderr"),
        ("DYN_AUDIT_FORCE_LOGGING", "1"),
    ],
)
def test_what_the_user_says_of_the_request_trace_stays(name: str, value: str) -> None:
    os.environ[name] = value
    trace_requests_in_process()
    said = {key: text for key, text in os.environ.items() if key.startswith("DYN_")}
    assert said == {name: value}


def test_a_missing_discovery_folder_is_made(tmp_path: Path) -> None:
    os.environ["DYN_FILE_KV"] = str(tmp_path / "discovery")
    check_discovery_folder()
    assert (tmp_path / "discovery").is_dir()
    check_discovery_folder()


@pytest.mark.parametrize("place", ["nowhere/discovery", "a_file", "a_file/discovery"])
def test_a_discovery_folder_that_cannot_be_made_is_refused_by_name(
    tmp_path: Path, place: str
) -> None:
    (tmp_path / "a_file").touch()
    os.environ["DYN_FILE_KV"] = str(tmp_path / place)
    with pytest.raises(InputError) as caught:
        check_discovery_folder()
    assert repr(str(tmp_path / place)) in str(caught.value)
    assert "DYN_FILE_KV" in str(caught.value)
