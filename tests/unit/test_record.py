"""Recordings: what is in the files, how much of it, and what was missed."""

import json
import os
from pathlib import Path

import pytest

from dynamo_regime.admin.controller_wire import FinishedRequestsPage, NumberedRequest
from dynamo_regime.errors import RegimeError
from dynamo_regime.record import Recording


def page(*numbers: int, last: int | None = None, since: float = 1.0) -> FinishedRequestsPage:
    requests = [NumberedRequest(number=n, event={"n": n}) for n in numbers]
    return FinishedRequestsPage(
        since_unix=since, last=max(numbers, default=0) if last is None else last, requests=requests
    )


def recorded(folder: Path) -> list[int]:
    lines = [line for path in sorted(folder.iterdir()) for line in path.read_text().splitlines()]
    return [json.loads(line)["event"]["n"] for line in lines]


def test_what_follows_the_beginning_is_written_once_and_gaps_are_counted(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    with Recording(folder, 10**6) as recording:
        recording.begin(page(5))
        assert recording.add(page(6, 7, last=9))
        assert not recording.add(page(9))
        assert not recording.add(page(last=9))
        assert recording.summary() == (
            f"3 requests are recorded in {folder}; 1 were lost before they could be read."
        )
    assert recorded(folder) == [6, 7, 9]


def test_a_frontend_that_began_anew_is_asked_from_its_beginning(tmp_path: Path) -> None:
    with Recording(tmp_path, 10**6) as recording:
        recording.begin(page(50))
        assert recording.add(page(51, since=2.0, last=51))  # Its first 50 were not asked for.
        assert recording.last == 0
        assert not recording.add(page(1, 2, since=2.0))
        assert recording.summary() == f"2 requests are recorded in {tmp_path}."
    assert recorded(tmp_path) == [1, 2]


def test_the_folder_stays_within_its_bound_and_the_newest_stay(tmp_path: Path) -> None:
    most = 16 * 1024
    with Recording(tmp_path, most) as recording:
        recording.begin(page())
        for number in range(1, 2_000):
            recording.add(page(number))
            assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= most
    numbers = recorded(tmp_path)
    assert numbers == list(range(numbers[0], 2_000))
    assert len(list(tmp_path.iterdir())) > 8


def test_a_second_recording_goes_on_in_a_file_of_its_own(tmp_path: Path) -> None:
    for number in (1, 2):
        with Recording(tmp_path, 10**6) as recording:
            recording.begin(page(last=number - 1))
            recording.add(page(number))
    assert [path.name for path in sorted(tmp_path.iterdir())] == [
        "requests-000001.jsonl",
        "requests-000002.jsonl",
    ]
    assert recorded(tmp_path) == [1, 2]


def test_an_empty_recording_leaves_no_file(tmp_path: Path) -> None:
    with Recording(tmp_path, 10**6) as recording:
        recording.begin(page())
    assert list(tmp_path.iterdir()) == []


def test_on_a_full_disk_no_half_line_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write
    with Recording(tmp_path, 10**6) as recording:
        recording.begin(page())
        recording.add(page(1))

        def full(file: int, content: bytes) -> int:
            monkeypatch.setattr(os, "write", lambda *_: (_ for _ in ()).throw(OSError(28, "full")))
            return write(file, content[:5])

        monkeypatch.setattr(os, "write", full)
        with pytest.raises(RegimeError, match=r"nothing can be recorded in .* \(full\): make room"):
            recording.add(page(2, 3))
        monkeypatch.undo()
        assert not recording.add(page(2, 3))
    assert recorded(tmp_path) == [1, 2, 3]


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RegimeError, match=r"nothing can be recorded in .*/file"):
        Recording(tmp_path / "file", 10**6)
