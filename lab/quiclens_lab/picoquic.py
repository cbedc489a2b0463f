"""picoquic's HTTP/3 server, from PyPI's `aiopquic`, in an environment below `target/` that `make servers` makes.

It serves files over HTTP/3, logs every connection or none, and writes no access log.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from quiclens_lab import file_server
from quiclens_lab.errors import CannotTryError
from quiclens_lab.machine import LAB
from quiclens_lab.servers import TARGET, RunningServer

_ROOT = TARGET / "picoquic"
PYTHON = _ROOT / "bin" / "python"
_MADE = _ROOT / "made"
_PROGRAM = Path(__file__).with_name("picoquic_server.py")


def missing() -> str | None:
    """Why it cannot be run here, or None."""
    relative = _ROOT.relative_to(LAB.parent)
    return None if _MADE.is_file() else f"{relative} is not there: `make servers`, where a Python >= 3.12 is in PATH"


@contextmanager
def serving(folder: Path, is_logged: bool, sizes: Iterable[int]) -> Iterator[RunningServer]:
    """Run it until the block ends, with a file of each size and qlogs in `folder/traces`."""
    if reason := missing():
        raise CannotTryError(reason)

    def words(port: int, certificate: Path, key: Path) -> Sequence[str]:
        options = ["--port", str(port), "--certificate", str(certificate), "--key", str(key)]
        options += ["--files", str(folder / "files")] + (["--qlog", str(folder / "traces")] if is_logged else [])
        return [str(PYTHON), "-I", str(_PROGRAM), *options]

    # aiopquic's own switch would log where none is asked for.
    with file_server.serving("picoquic", folder, sizes, words, {"AIOPQUIC_QLOG_DIR": ""}) as running:
        yield running
