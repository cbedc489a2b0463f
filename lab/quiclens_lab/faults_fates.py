"""What a server does with a connection's file when it is done: nothing, or it renames, compresses or deletes it, or
another log takes its inode."""

import os
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from quiclens_lab.faults_live import Live, until
from quiclens_lab.faults_writer import WrittenLog, compress

ASKED_EVERY_S = 0.5
HELD_S = 60.0
STORED_S = 15.0
DELETED = ("deleted", "reused")
INODES_TRIED = 200


class Fates:
    """Looks at each turn of the writer for files that are done."""

    def __init__(
        self, live: Live, own: Sequence[WrittenLog], fates: Sequence[str], heirs: Mapping[str, Sequence[bytes]]
    ) -> None:
        """`heirs`: records of connections, for files that take the inode of one that was deleted."""
        self._live = live
        self._left = list(zip(own, fates, strict=True))
        self._asked = 0.0
        self._heirs = list(heirs.items())
        self._free: list[os.stat_result] = []
        self.reused = 0
        """Files that really have the inode of one that is gone."""
        self.deleted: set[str] = set()
        """Connections whose file is gone: whether it was all there nobody can tell any more."""
        self.gone: list[str] = []
        """Connections whose file is gone, those among them of which a compressed one is left."""

    def turn(self) -> None:
        """Give every file that is done what is meant for it."""
        for log, fate in list(self._left):
            if log.is_written and log.path.exists() and self._is_met(log, fate):
                self._left.remove((log, fate))

    def _is_met(self, log: WrittenLog, fate: str) -> bool:
        # What nobody could read before it was deleted is gone: it is deleted when all of it is stored. Half a record at
        # the end is none before the file is over, so such a file stays.
        is_deleted = fate in DELETED
        if is_deleted and not self._is_stored(log):
            return False
        log.close()
        if is_deleted and not log.path.read_bytes().endswith(b"\n"):
            return True
        if is_deleted or fate == "compressed":
            self.gone.append(log.path.stem)
        if fate == "renamed":
            log.path.rename(log.path.with_name(f"done-{log.path.name}"))
        elif fate == "compressed":
            compress(log.path)
        elif is_deleted:
            self.deleted.add(log.path.stem)
            before = log.path.stat()
            log.path.unlink()
            if fate == "reused":
                self._free.append(before)
        return True

    def finish(self) -> None:
        """Delete what is stored only now, and let other logs take the inodes of those that are gone, when nobody holds
        them any more."""
        until_s = time.monotonic() + STORED_S
        while time.monotonic() < until_s and any(fate in DELETED for _, fate in self._left):
            time.sleep(ASKED_EVERY_S)
            self.turn()
        for before, (connection_id, records) in zip(self._free, self._heirs, strict=False):
            until(partial(self._is_free, before), HELD_S, "a deleted log is never let go")
            self._inherit(before, connection_id, records)

    def _is_free(self, gone: os.stat_result) -> bool:
        """The collector, which may have been started again, has no descriptor of a deleted log."""
        return not self._live.holds(gone)

    def _inherit(self, before: os.stat_result, connection_id: str, records: Sequence[bytes]) -> None:
        """Write another connection's log at once, of the same size where it is not longer."""
        # White space after a record is no part of it.
        padding = max(before.st_size - sum(map(len, records)), 0)
        content = b"".join(records)[:-1] + b" " * padding + b"\n"
        (self._live.folder / "kept" / "traces" / f"{connection_id}.sqlog").write_bytes(content)
        draft = self._with_inode(before.st_ino)
        draft.write_bytes(content)
        after = draft.stat()
        draft.rename(self._live.traces / f"{connection_id}.sqlog")
        self.reused += (after.st_ino, after.st_size) == (before.st_ino, before.st_size)

    def _with_inode(self, inode: int) -> Path:
        """An empty file beside the followed folder, with this inode where the file system gives it again soon."""
        others = []
        for number in range(INODES_TRIED):
            path = self._live.traces.parent / f"draft-{number}"
            path.touch()
            if path.stat().st_ino == inode:
                break
            others.append(path)
        for other in others if path not in others else others[:-1]:
            other.unlink()
        return path

    def _is_stored(self, log: WrittenLog) -> bool:
        if time.monotonic() - self._asked < ASKED_EVERY_S:
            return False
        self._asked = time.monotonic()
        return self._live.events_of(log.path.stem) >= log.path.read_bytes().count(b"\n") - 1
