"""A folder with all that a study was and came to, which an interrupted study goes on in.

``study.json`` is the configuration, ``trace-*.npz`` the columns of its traces, and ``results/`` has
one file for every case and seed that is finished. Each file is written whole or not at all.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import dynamo_regime
from dynamo_regime.control.checked import ConfigurationError, read_text, validated
from dynamo_regime.sim.workload import Trace
from dynamo_regime.study.case import Case
from dynamo_regime.study.result import Result

_STUDY = "study.json"
_RESULTS = "results"
_SEEDS = "seeds"
_NAMES = ("arrival_seconds", "input_tokens", "output_tokens", "blocks", "block_offsets")


@dataclass(frozen=True, slots=True)
class Study:
    """Simulations side by side.

    Attributes:
        kind: The command that it belongs to.
        cases: Its cells, each with a name of its own.
        seeds: Every case is run with the seeds 0 to ``seeds`` − 1.
        settings: What else its report needs, as plain JSON.
    """

    kind: str
    cases: tuple[Case, ...]
    seeds: int
    settings: Mapping[str, Any]

    def document(self) -> dict[str, Any]:
        """All of it as plain JSON; traces are named by what is in them."""
        document = {
            "version": dynamo_regime.__version__,
            "kind": self.kind,
            "settings": dict(self.settings),
            _SEEDS: self.seeds,
            "cases": [_case_document(case) for case in self.cases],
        }
        loaded: dict[str, Any] = json.loads(json.dumps(document))
        return loaded

    @property
    def digest(self) -> str:
        """Eight letters that tell it from other studies, whatever the number of seeds."""
        document = {key: value for key, value in self.document().items() if key != _SEEDS}
        return _digest(json.dumps(document, sort_keys=True).encode())[:8]


@dataclass(frozen=True, slots=True)
class Finished:
    """A study that was run, as it is read from its folder.

    Attributes:
        kind: The command that it belongs to.
        settings: As of :class:`Study`.
        labels: What the cases stand for, by name.
        segments: Names of the cases' segments, by case.
        results: By case, in the order of the seeds.
    """

    kind: str
    settings: Mapping[str, Any]
    labels: Mapping[str, Mapping[str, Any]]
    segments: Mapping[str, tuple[str, ...]]
    results: Mapping[str, tuple[Result, ...]]


def open_folder(folder: Path, study: Study) -> None:
    """Make the folder of a study, or see that it is this study's.

    Raises:
        ConfigurationError: It holds another study, or cannot be written.
    """
    document = study.document()
    try:
        (folder / _RESULTS).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(
            f"{folder} cannot be written ({error.strerror}): name another folder"
        ) from None
    path = folder / _STUDY
    if path.exists():
        there = _read(path)
        differing = next(
            (key for key in document if key != _SEEDS and there.get(key) != document[key]), None
        )
        if differing is not None:
            raise ConfigurationError(
                f"{folder} holds a study that differs in {differing}: name another folder, or"
                " remove this one"
            )
    elif any((folder / _RESULTS).iterdir()):
        raise ConfigurationError(
            f"{folder} holds results but no {_STUDY}: name another folder, or remove this one"
        )
    for case in study.cases:
        if isinstance(case.workload, Trace):
            _save_columns(folder / _columns_name(case.workload), case.workload)
    write_whole(path, json.dumps(document, indent=1).encode())


def save_result(folder: Path, result: Result) -> None:
    """Write a result.

    Raises:
        ConfigurationError: It cannot be written.
    """
    path = _result_path(folder, result.case, result.seed)
    write_whole(path, result.model_dump_json(indent=1).encode())


def load_result(folder: Path, case: str, seed: int) -> Result | None:
    """A result that is there; None if the case was not yet run with the seed.

    Raises:
        ConfigurationError: The file cannot be used.
    """
    path = _result_path(folder, case, seed)
    return validated(Result, _read(path), str(path)) if path.exists() else None


def load_finished(folder: Path) -> Finished:
    """Read a study whose runs are all there.

    Raises:
        ConfigurationError: There is none, or it was not finished.
    """
    path = folder / _STUDY
    if not path.exists():
        raise ConfigurationError(f"{folder} holds no {_STUDY}: name the folder of a study")
    document = _read(path)
    try:
        kind, settings, seeds = document["kind"], document["settings"], document[_SEEDS]
        cases = {case["name"]: case for case in document["cases"]}
        labels = {name: case["labels"] for name, case in cases.items()}
        segments = {
            name: tuple(segment[0] for segment in case["segments"]) for name, case in cases.items()
        }
        wanted = range(seeds)
    except (KeyError, TypeError, IndexError):
        raise ConfigurationError(f"{path} is damaged: run the study anew") from None
    if kind in ("tune", "proof"):
        raise ConfigurationError(
            f"{folder} is a part of what tune did: its report.html is in the folder above"
        )
    results = {}
    for name in cases:
        found = [load_result(folder, name, seed) for seed in wanted]
        done = tuple(result for result in found if result is not None)
        if len(done) < len(found):
            raise ConfigurationError(
                f"{folder} is not finished (case {name!r}): run its command again to go on"
            )
        results[name] = done
    return Finished(kind, settings, labels, segments, results)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file whole, in place of what was there.

    Raises:
        ConfigurationError: It cannot be written.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        partial.write_bytes(content)
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise ConfigurationError(
            f"{path} cannot be written ({error.strerror}): make room or mend its permissions"
        ) from None


def _case_document(case: Case) -> dict[str, Any]:
    document = case.document()
    if isinstance(case.workload, Trace):
        document["workload"]["columns"] = _columns_name(case.workload)
    return document


def _columns_name(trace: Trace) -> str:
    return f"trace-{_digest(*(column.tobytes() for column in trace.columns()))[:12]}.npz"


def _save_columns(path: Path, trace: Trace) -> None:
    if path.exists():
        return
    partial = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    columns: dict[str, Any] = dict(zip(_NAMES, trace.columns(), strict=True))
    with partial.open("wb") as file:
        np.savez_compressed(file, **columns)
    partial.replace(path)


def _digest(*contents: bytes) -> str:
    digest = hashlib.sha256()
    for content in contents:
        digest.update(content)
    return digest.hexdigest()


def _result_path(folder: Path, case: str, seed: int) -> Path:
    return folder / _RESULTS / f"{case}.seed-{seed}.json"


def _read(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(read_text(path))
    except ValueError as error:
        raise ConfigurationError(f"{path} is damaged ({error}): remove it and run again") from None
    if not isinstance(content, dict):
        raise ConfigurationError(f"{path} is damaged: remove it and run again")
    return content
