"""What the process that holds an embedded store may still reach: the store, a temporary folder of its own, its code.

Everything else, and TCP but for the sockets that are open already, is given up before the engine starts: whatever a
statement, an upload or a fault in a library makes this process do, the kernel refuses the rest.
"""

import mimetypes
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from quiclens_questions import collector
from quiclens_questions.failure import CannotRun
from quiclens_store_server import landlock
from quiclens_store_server.landlock import NotConfined
from quiclens_web.front.own_folder import own_folder

_LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib")
_LOADERS = ("/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1", "/lib/ld-musl-x86_64.so.1")
_SYSTEM = (
    # The engine looks up its stack and its auxiliary vector; where it cannot read the latter, it reads on behind the
    # environment, which is not there any more, and crashes. Not the rest of /proc/self: `environ` may hold tokens.
    ("/proc/self/maps", landlock.READ),
    ("/proc/self/auxv", landlock.READ),
    ("/proc/sys/vm/overcommit_memory", landlock.READ),
    ("/sys/kernel/mm/transparent_hugepage/enabled", landlock.READ),
    ("/sys/fs/cgroup", landlock.READ),  # its memory limit
    ("/usr/share/zoneinfo", landlock.READ),
    ("/dev/null", landlock.USE),
)


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder for everything that this process and its programs write for a moment; it is the working folder too, so
    that no file of another one is ever taken for ours."""
    around = own_folder(Path(tempfile.gettempdir()) / f"quiclens-{os.getuid()}", "cannot_write", "TMPDIR")
    before, kept = Path.cwd(), tempfile.tempdir
    with tempfile.TemporaryDirectory(prefix="serve-", dir=around, ignore_cleanup_errors=True) as name:
        os.environ["TMPDIR"] = tempfile.tempdir = name
        os.chdir(name)
        try:
            yield Path(name)
        finally:
            tempfile.tempdir = kept
            with suppress(OSError):
                os.chdir(before)


def confine(store: Path, temporary: Path, removable: Iterable[Path]) -> int:
    """Give up everything but what serving a store needs; the version of Landlock that holds it.

    `removable` are folders in which a file is removed at the end.
    NotConfined, with the reason, where it cannot be; CannotRun where the store's folder cannot be made.
    """
    try:
        store.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CannotRun("no_store", f"cannot make the store's folder {store}: {error.strerror}") from error
    mimetypes.init([])  # now, from Python's own table: later it would look for the machine's
    rules = [(store, landlock.OWN), (temporary, landlock.OWN), (temporary.parent, landlock.REMOVE)]
    rules += [(Path(path), rights) for path, rights in _SYSTEM]
    rules += [(Path(path), landlock.READ) for path in (*_LIBRARIES, *_code())]
    rules += [(path, landlock.REMOVE) for path in removable]
    with suppress(CannotRun):  # without a collector nothing is uploaded
        rules.append((collector.find().resolve(), landlock.RUN))
        rules += [(Path(path).resolve(), landlock.RUN) for path in _LOADERS]
    return landlock.restrict(rules)


def _code() -> Iterator[str]:
    """Where Python's modules and our packages' files are."""
    yield from {sys.prefix, sys.base_prefix, *(path for path in sys.path if path and Path(path).exists())}


__all__ = ["NotConfined", "confine", "temporary_folder"]
