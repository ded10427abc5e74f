"""A folder of files into which a frontend's finished requests are written, within a bound."""

import json
import os
import re
import time
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from dynamo_regime.errors import RegimeError

if TYPE_CHECKING:
    from dynamo_regime.admin.controller_wire import FinishedRequestsPage

_FILES = 16
_NAME = re.compile(r"requests-(\d{6,})\.jsonl")


class Recording:
    """Writes JSON lines as Dynamo's own file sink does, whole ones only; counts what it missed.

    A file is begun whenever the last one holds a sixteenth of the bound, and the oldest are removed
    that the bound has no room for. What is in the folder already counts, and is never written to.
    """

    def __init__(self, folder: Path, most_bytes: int) -> None:
        """Make the folder.

        Args:
            folder: Where the files go.
            most_bytes: In all files together.

        Raises:
            RegimeError: It cannot be made or written to.
        """
        self.last = 0
        self._folder = folder
        self._most_bytes = most_bytes
        self._began = time.time()
        self._since_unix: float | None = None
        self._file: int | None = None
        self._size = 0
        self._written = 0
        self._missed = 0
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._open()
        except OSError as error:
            raise self._refusal(error) from None

    def begin(self, page: "FinishedRequestsPage") -> None:
        """Pass over what finished before."""
        self._since_unix, self.last = page.since_unix, page.last

    def add(self, page: "FinishedRequestsPage") -> bool:
        """Write a page of the requests that follow ``last``.

        Returns:
            Whether there may be more, so that the listener should be asked again.

        Raises:
            RegimeError: They cannot be written; then none of the page is in the file.
        """
        if page.since_unix != self._since_unix:
            # A frontend that began anew, whose numbers begin at 1: this page may be none of those.
            self._since_unix, self.last = page.since_unix, 0
            return page.last > 0
        elapsed = round((time.time() - self._began) * 1e3)
        lines = [
            json.dumps({"timestamp": elapsed, "event": each.event}) + "\n" for each in page.requests
        ]
        if not lines:
            return False
        self._write("".join(lines).encode())
        last = page.requests[-1].number
        self._missed += last - self.last - len(lines)
        self._written += len(lines)
        self.last = last
        return last < page.last

    def summary(self) -> str:
        """What was recorded, in one sentence."""
        missed = f"; {self._missed} were lost before they could be read" if self._missed else ""
        return f"{self._written} requests are recorded in {self._folder}{missed}."

    def close(self) -> None:
        """Close the file; an empty one is removed."""
        if self._file is None:
            return
        os.close(self._file)
        self._file = None
        if self._size == 0:
            self._path.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        """Close the file."""
        self.close()

    def _write(self, content: bytes) -> None:
        try:
            if self._size >= self._most_bytes // _FILES:
                self.close()
                self._open()
            self._make_room(len(content))
            file = self._file
            assert file is not None
            rest = memoryview(content)
            try:
                while rest:
                    rest = rest[os.write(file, rest) :]
            except OSError:
                os.ftruncate(file, self._size)
                raise
            self._size += len(content)
        except OSError as error:
            raise self._refusal(error) from None

    def _open(self) -> None:
        """Begin a file after all that are there."""
        number = max((number for number, _ in self._files()), default=0) + 1
        self._path = self._folder / f"requests-{number:06}.jsonl"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
        self._file = os.open(self._path, flags, 0o600)
        self._size = 0

    def _make_room(self, size: int) -> None:
        files = [path for _, path in self._files() if path != self._path]
        total = sum(path.stat().st_size for path in files) + self._size + size
        while files and total > self._most_bytes:
            oldest = files.pop(0)
            total -= oldest.stat().st_size
            oldest.unlink()

    def _files(self) -> list[tuple[int, Path]]:
        matches = ((_NAME.fullmatch(path.name), path) for path in self._folder.iterdir())
        return sorted((int(match[1]), path) for match, path in matches if match)

    def _refusal(self, error: OSError) -> RegimeError:
        return RegimeError(
            f"nothing can be recorded in {self._folder} ({error.strerror}): make room, mend its"
            " permissions, or name another folder"
        )
