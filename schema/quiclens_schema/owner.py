"""Who holds an embedded store: `owner.json` in its folder, and the engine's own lock.

A process that also serves the store writes where: `url` for people, `instance` what its `/ping` answers with, and
`socket` the unix socket on which it answers the store's own user. The socket lies outside of the store's folder: the
engine could read what lies there.
"""

import fcntl
import json
import os
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from urllib3 import PoolManager
from urllib3.exceptions import HTTPError

from quiclens_schema import unix_http

INSTANCE_HEADER = "X-Quiclens-Instance"

_OWNER_FILE = "owner.json"
_LOCK_FILE = "status"  # the engine holds an flock on it while it is open
_PING_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Owner:
    """The process that holds a folder; `url` is empty where it does not serve it, `landlock` is the version of Landlock
    that confines it, 0 where none does."""

    pid: int
    since: str
    url: str = ""
    instance: str = ""
    socket: str = ""
    landlock: int = 0

    @staticmethod
    def now(url: str = "", instance: str = "", socket: str = "", landlock: int = 0) -> "Owner":
        """This process, from now on."""
        since = datetime.now(UTC).isoformat(timespec="seconds")
        return Owner(os.getpid(), since, url, instance, socket, landlock)

    def is_alive(self) -> bool:
        """Whether a process of this id runs."""
        try:
            os.kill(self.pid, 0)
        except PermissionError:
            return True
        except OSError:
            return False
        return True

    def answers(self) -> bool:
        """Whether what listens on the socket is this very process, not another that took its name."""
        return bool(self.instance) and instance_at(unix_http.pool_manager(Path(self.socket)), unix_http.URL) == (
            self.instance
        )


def instance_at(connections: PoolManager, url: str) -> str:
    """What a serving quiclens is called there; empty where something else answers, or nothing."""
    try:
        answer = connections.request("GET", f"{url}/ping", timeout=_PING_SECONDS, retries=False)
    except HTTPError:
        return ""
    return str(answer.headers.get(INSTANCE_HEADER, "")) if answer.status == 200 else ""


def is_locked(folder: Path) -> bool:
    """Whether a process holds the engine's lock: asked first, since the engine itself complains on stderr."""
    try:
        with (folder / _LOCK_FILE).open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def read(folder: Path) -> Owner | None:
    """Who says that it holds the folder; None when nobody does or it is gone."""
    try:
        said = json.loads((folder / _OWNER_FILE).read_text(encoding="utf-8"))
        texts = {name: str(said.get(name, "")) for name in ("since", "url", "instance", "socket")}
        owner = Owner(pid=int(said["pid"]), landlock=int(said.get("landlock", 0)), **texts)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return owner if owner.is_alive() else None


def write(folder: Path, owner: Owner) -> None:
    """Say who holds the folder."""
    draft = folder / f"{_OWNER_FILE}.{os.getpid()}"
    draft.write_text(json.dumps({name: value for name, value in asdict(owner).items() if value}) + "\n", "utf-8")
    draft.replace(folder / _OWNER_FILE)


def remove(folder: Path) -> None:
    """Take back what this process said; another's word stays."""
    owner = read(folder)
    if owner is not None and owner.pid == os.getpid():
        (folder / _OWNER_FILE).unlink(missing_ok=True)
