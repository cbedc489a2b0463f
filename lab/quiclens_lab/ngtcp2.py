"""ngtcp2's example server, from Debian's package `ngtcp2-server`, unpacked below `target/` by `make servers`.

It serves files over HTTP/3, logs every connection or none, and writes no access log.
"""

import signal
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from quiclens_lab import file_server
from quiclens_lab.errors import CannotTryError
from quiclens_lab.machine import LAB
from quiclens_lab.servers import TARGET, RunningServer

_ROOT = TARGET / "ngtcp2"
SERVER = _ROOT / "usr" / "sbin" / "gtlsserver"
ENDS_ON = signal.SIGINT
"""It has no handler of SIGTERM: killed, it leaves the ends of open logs in its buffers."""


def missing() -> str | None:
    """Why it cannot be run here, or None."""
    relative = SERVER.relative_to(LAB.parent)
    return None if SERVER.is_file() else f"{relative} is not there: `make servers`, where apt-get reaches Debian"


@contextmanager
def serving(folder: Path, is_logged: bool, sizes: Iterable[int]) -> Iterator[RunningServer]:
    """Run it until the block ends, with a file of each size and qlogs in `folder/traces`."""
    if reason := missing():
        raise CannotTryError(reason)

    def words(port: int, certificate: Path, key: Path) -> Sequence[str]:
        options = ["--quiet", f"--htdocs={folder / 'files'}"]
        options += [f"--qlog-dir={folder / 'traces'}"] if is_logged else []
        return [str(SERVER), *options, "127.0.0.1", str(port), str(key), str(certificate)]

    with file_server.serving("ngtcp2", folder, sizes, words, environment(), ENDS_ON) as running:
        yield running


def environment() -> dict[str, str]:
    """Where the libraries of the unpacked packages are: a folder that is named after the machine."""
    folders = sorted(str(path) for path in (_ROOT / "usr" / "lib").glob("*-linux-gnu*"))
    return {"LD_LIBRARY_PATH": ":".join(folders)}
