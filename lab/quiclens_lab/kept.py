"""What a long run has found so far, a JSON line each, so that a run goes on where one that was ended stood."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import TypeAdapter

T = TypeVar("T")


class RunLines(Generic[T]):
    """The lines of one run in `folder / name`; without a folder nothing is kept, and nothing was.

    `also` is a folder of the repository that has the same lines, so that a run goes on on another machine; it has those
    of the newest code only.
    """

    def __init__(self, folder: Path | None, name: str, of: type[T], also: Path | None = None) -> None:
        self._files = [each / name for each in (folder, also) if each]
        self._lines = TypeAdapter(of)
        if also:
            keep_only(also, name)

    def read(self) -> Iterator[T]:
        """Everything that was kept in either place, and now is in both; a line that was cut when a run was killed is
        none."""
        kept = [file.read_bytes().splitlines(keepends=True) if file.exists() else [] for file in self._files]
        lines = list(dict.fromkeys(line for each in kept for line in each if line.endswith(b"\n")))
        for file, has in zip(self._files, kept, strict=True):
            if missing := [line for line in lines if line not in set(has)]:
                _append(file, b"".join(missing))
        for line in lines:
            with suppress(ValueError):
                yield self._lines.validate_json(line)

    def add(self, found: T) -> None:
        """Keep one more."""
        for file in self._files:
            _append(file, self._lines.dump_json(found) + b"\n")


def keep_only(folder: Path, name: str) -> None:
    """Take away lines of other code."""
    for old in folder.glob("*.jsonl"):
        if old.name != name:
            old.unlink()


def _append(file: Path, lines: bytes) -> None:
    """Add whole lines; one that was cut before them ends there."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("ab+") as opened:
        is_cut = opened.tell() > 0 and opened.seek(-1, 2) >= 0 and opened.read() != b"\n"
        opened.write(b"\n" + lines if is_cut else lines)
