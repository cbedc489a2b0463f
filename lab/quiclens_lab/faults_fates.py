"""What a server does with a connection's file when it is done: nothing, or it renames, compresses or deletes it, or
another log takes its inode."""

import os
import time
from collections.abc import Mapping, Sequence

from quiclens_lab.faults_live import Live
from quiclens_lab.faults_writer import Log, compress

ASKED_EVERY_S = 0.5


class Fates:
    """Looks at each turn of the writer for files that are done."""

    def __init__(
        self, live: Live, own: Sequence[Log], fates: Sequence[str], heirs: Mapping[str, Sequence[bytes]]
    ) -> None:
        """`heirs`: records of connections, for files that take the inode of one that was deleted."""
        self._live = live
        self._left = list(zip(own, fates, strict=True))
        self._asked = 0.0
        self._heirs = list(heirs.items())
        self.reused = 0
        """Files that really have the inode of one that is gone."""
        self.deleted: set[str] = set()
        """Connections whose file is gone: whether it was all there nobody can tell any more."""

    def turn(self) -> None:
        """Give every file that is done what is meant for it."""
        for log, fate in list(self._left):
            if log.is_written and log.path.exists() and self._is_met(log, fate):
                self._left.remove((log, fate))

    def _is_met(self, log: Log, fate: str) -> bool:
        # What nobody could read before it was deleted is gone: it is deleted when all of it is stored. Half a record at
        # the end is none before the file is over, so such a file stays.
        is_deleted = fate in ("deleted", "reused")
        if is_deleted and not self._is_stored(log):
            return False
        log.close()
        if is_deleted and not log.path.read_bytes().endswith(b"\n"):
            return True
        if fate == "renamed":
            log.path.rename(log.path.with_name(f"done-{log.path.name}"))
        elif fate == "compressed":
            compress(log.path)
        elif is_deleted:
            self.deleted.add(log.path.stem)
            before = log.path.stat()
            log.path.unlink()
            if fate == "reused" and self._heirs:
                self._inherit(before)
        return True

    def _inherit(self, before: os.stat_result) -> None:
        """Write another connection's log at once, of the same size where it is not longer. Most file systems give it
        the inode that has just become free."""
        connection_id, records = self._heirs.pop()
        # White space after a record is no part of it.
        padding = max(before.st_size - sum(map(len, records)), 0)
        content = b"".join(records)[:-1] + b" " * padding + b"\n"
        (self._live.folder / "kept" / "traces" / f"{connection_id}.sqlog").write_bytes(content)
        path = self._live.traces / f"{connection_id}.sqlog"
        path.write_bytes(content)
        after = path.stat()
        self.reused += (after.st_ino, after.st_size) == (before.st_ino, before.st_size)

    def _is_stored(self, log: Log) -> bool:
        if time.monotonic() - self._asked < ASKED_EVERY_S:
            return False
        self._asked = time.monotonic()
        return self._live.events_of(log.path.stem) >= log.path.read_bytes().count(b"\n") - 1
