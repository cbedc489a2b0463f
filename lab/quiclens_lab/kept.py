"""What a long run has found so far, a JSON line each, so that a run goes on where one that was ended stood."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import TypeAdapter

T = TypeVar("T")


class RunLines(Generic[T]):
    """The lines of one run in `folder / name`; without a folder nothing is kept, and nothing was."""

    def __init__(self, folder: Path | None, name: str, of: type[T]) -> None:
        self._file = folder / name if folder else None
        self._lines = TypeAdapter(of)

    def read(self) -> Iterator[T]:
        """Everything that was kept; a line that was cut when a run was killed is none."""
        if self._file is None or not self._file.exists():
            return
        for line in self._file.read_bytes().splitlines():
            with suppress(ValueError):
                yield self._lines.validate_json(line)

    def add(self, found: T) -> None:
        """Keep one more."""
        if self._file is None:
            return
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with self._file.open("ab") as file:
            file.write(self._lines.dump_json(found) + b"\n")
