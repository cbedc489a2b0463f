"""Files that are read again while a store is served: certificate, key, tokens.

The process that holds an embedded store may open nothing but the store, so a small process beside it reads them: also
when a file was replaced by another of its name, as renewals and mounted secrets do it, which a rule of the kernel about
the file itself would not follow. It reads these files alone, and ends with the process that asks.
"""

import base64
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

Read = Callable[[Path], bytes]
"""The content of a file; OSError where it cannot be had."""

_LARGEST = 4 << 20  # bytes of a file


def directly(path: Path) -> bytes:
    """For a process that may read everything. OSError where the file cannot be read."""
    with path.open("rb") as file:
        data = file.read(_LARGEST + 1)
    if len(data) > _LARGEST:
        raise OSError(27, "File too large", str(path))
    return data


class FilesBeside:
    """The files, from the side of the process that serves. It reads them itself until it begins to be confined."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = [path.absolute() for path in paths]
        self._turn = Lock()
        self._process: subprocess.Popen[str] | None = None

    @contextmanager
    def beside(self) -> Iterator[None]:
        """From now on another process reads them, until the block ends; none, where there is no file."""
        if not self._paths:
            yield
            return
        words = [sys.executable, "-I", str(Path(__file__).resolve()), *map(str, self._paths)]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={}, text=True) as process:
            self._process = process
            try:
                yield
            finally:
                self._process = None  # the end of its input is its end

    def read(self, path: Path) -> bytes:
        """What a file has now. OSError where it cannot be read, or the process has ended."""
        process = self._process
        if process is None:
            return directly(path)
        assert process.stdin is not None and process.stdout is not None
        with self._turn:
            process.stdin.write(f"{self._paths.index(path.absolute())}\n")
            process.stdin.flush()
            line = process.stdout.readline()
        if not line:
            raise OSError(5, "the process that reads files has ended", str(path))
        answer = json.loads(line)
        if "error" in answer:
            raise OSError(*answer["error"], str(path))
        return base64.b64decode(answer["content"])


def _answer(paths: Sequence[str]) -> None:
    """A line with a number asks for a file; a JSON object on one line answers."""
    for line in sys.stdin:
        try:
            answer: dict[str, object] = {"content": base64.b64encode(directly(Path(paths[int(line)]))).decode()}
        except OSError as error:
            answer = {"error": [error.errno or 5, error.strerror or "cannot be read"]}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    _answer(sys.argv[1:])
