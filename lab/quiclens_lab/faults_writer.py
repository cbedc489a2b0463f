"""Growing files as servers write them: in pieces that end anywhere, renamed, copied and truncated, left half written.

Every byte that ever stood in a file is kept beside, one file for each life of a log: what a plain reading of those
says is what must be found afterwards.
"""

import gzip
import random
import threading
import time
from collections.abc import Callable, Sequence
from io import FileIO
from pathlib import Path

TICK_S = 0.02
HELD_BYTES = 200
"""At most so many bytes stay in a writer's buffer between two writes."""


class WrittenLog:
    """One log that a server writes between two shares of the whole time. One thread at a time uses it."""

    def __init__(
        self,
        path: Path,
        kept: Path,
        records: Sequence[bytes],
        draw: random.Random,
        header: bytes = b"",
        span: tuple[float, float] = (0.0, 1.0),
        is_own: bool = False,
    ) -> None:
        self.path = path
        self.has_unsure_end = False
        self.cut_lives: list[Path] = []
        self._is_own = is_own
        self._kept_folder = kept
        self._records = records
        self._header = header
        self._draw = draw
        self._span = span
        self._taken = 0
        self._lives = 0
        self._buffer = header
        self._file: FileIO | None = None
        self._kept: FileIO | None = None

    @property
    def count(self) -> int:
        """Events that it has when it is written, of a log whose first record is its header."""
        return len(self._records) - 1

    @property
    def is_written(self) -> bool:
        return self._taken == len(self._records) and not self._buffer

    def grow(self, share: float) -> None:
        """Write what is due by this share of the time; a piece of it often stays behind, as in a buffer."""
        begin, end = self._span
        until = round(min(max((share - begin) / (end - begin), 0.0), 1.0) * len(self._records))
        if until > self._taken:
            self._buffer += b"".join(self._records[self._taken : until])
            self._taken = until
        held = self._draw.choice((0, self._draw.randrange(HELD_BYTES))) if until < len(self._records) else 0
        if self._taken:
            self._write(max(len(self._buffer) - held, 0))

    def rotate(self, name: str) -> Path | None:
        """Close at the end of a record and rename; what comes next opens a new file, with its header."""
        self._write(len(self._buffer))
        if self._file is None:
            return None
        self.close()
        self._buffer = self._header
        return self.path.rename(self.path.with_name(name))

    def truncate(self, name: str, writes_between: bool) -> None:
        """Copy the file and cut it to nothing under its writer; what is written between the two is in no file then."""
        if self._file is None or self._kept is None:
            return
        self.path.with_name(name).write_bytes(self.path.read_bytes())
        if writes_between:
            self._take_one()
            self._write(len(self._buffer))
            self.has_unsure_end = True
        self._file.truncate(0)
        self.cut_lives.append(Path(str(self._kept.name)))
        self._kept.close()
        self._kept = self._keep()

    def die(self) -> None:
        """The writer is killed in the middle of a record, the rest of which never comes."""
        if self._file is None or self.is_written:
            return
        self._take_one()
        self._write(len(self._buffer) * self._draw.randrange(1, 100) // 100)
        self._buffer = b""
        if self._is_own:  # the connection ends with its process
            self._taken = len(self._records)

    def close(self) -> None:
        if self._file is not None and self._kept is not None:
            self._file.close()
            self._kept.close()
        self._file = self._kept = None

    def _take_one(self) -> None:
        self._buffer += b"".join(self._records[self._taken : self._taken + 1])
        self._taken = min(self._taken + 1, len(self._records))

    def _write(self, size: int) -> None:
        piece, self._buffer = self._buffer[:size], self._buffer[size:]
        if not piece:
            return
        if self._file is None or self._kept is None:
            self._file, self._kept = self.path.open("ab", buffering=0), self._keep()
        self._kept.write(piece)
        self._file.write(piece)

    def _keep(self) -> FileIO:
        """A new life: what stands in the file from here on is a log of its own."""
        self._lives += 1
        return (self._kept_folder / f"{self.path.stem}-{self._lives}{self.path.suffix}").open("wb", buffering=0)


def compress(path: Path) -> None:
    """As gzip does: the compressed file appears and grows, then the other goes."""
    with gzip.open(path.with_name(path.name + ".gz"), "wb") as out:
        out.write(path.read_bytes())
    path.unlink()


class LogWriter(threading.Thread):
    """Writes all logs side by side within `seconds`; whoever strikes at the files takes `lock`."""

    def __init__(self, logs: Sequence[WrittenLog], seconds: float, each_turn: Callable[[], None]) -> None:
        super().__init__(name="writer", daemon=True)
        self.lock = threading.Lock()
        self._logs = logs
        self._seconds = seconds
        self._each_turn = each_turn

    def run(self) -> None:
        began = time.monotonic()
        share = 0.0
        while share < 1:
            time.sleep(TICK_S)
            share = min((time.monotonic() - began) / self._seconds, 1.0)
            with self.lock:
                for log in self._logs:
                    log.grow(share)
            self._each_turn()
