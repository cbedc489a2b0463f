"""Load files once: run the collector over them, insert what it says, and link.

One thread reads the collector's output while this one inserts; at most two batches are held.
"""

import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from threading import Lock, Semaphore, Thread
from typing import IO, Any, BinaryIO, TypeVar, cast

from quiclens_schema.catalogue import CatalogueError
from quiclens_schema.served import ServedStore, StoreOperation
from quiclens_schema.store import Store, StoreError

from quiclens_ingest.frames import Batch, CollectorSummary, Frame, FrameError, Progress, frames
from quiclens_ingest.link import LinkSummary, link, link_since
from quiclens_ingest.linking import remember_up_to, remembered
from quiclens_ingest.mark import NOTHING, mark
from quiclens_ingest.narrow import RowsStored, store_batch

_BATCHES_HELD = 2

Inserted = TypeVar("Inserted")


class LoadError(Exception):
    """The load could not be finished; what was stored before stays, and loading again makes it whole."""


@dataclass(frozen=True, slots=True)
class LoadSummary:
    """What was read, as the collector counts, how many of its rows were dropped as erased, and what linking did. Rows
    that the store refused are counted with what was rejected."""

    files: int
    connections: int
    events: int
    requests: int
    rejected: dict[str, int]
    values_unread: int
    limits_crossed: dict[str, int]
    erased: int
    bytes: int
    seconds: float
    linked: LinkSummary

    def document(self) -> dict[str, Any]:
        """The JSON that `quiclens load` promises."""
        return {
            "files": self.files,
            "connections": self.connections,
            "events": self.events,
            "requests": self.requests,
            "rejected": self.rejected,
            "values_unread": self.values_unread,
            "limits_crossed": self.limits_crossed,
            "erased": self.erased,
            "bytes": self.bytes,
            "seconds": round(self.seconds, 3),
        }


def load(
    store: Store,
    paths: Sequence[Path],
    requests: Sequence[Path] = (),
    *,
    collector: Path,
    requests_format: Path | None = None,
    client_secret: Path | None = None,
    redact: bool = False,
    requests_host: str | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> LoadSummary:
    """Load trace files or folders, and access logs, into a migrated store.

    `requests_format` is a TOML file that says what the access logs' lines are; without it they are JSON. With
    `requests_host`, the name of a collector, their lines are the rows that this collector makes of them. By a key of
    the secret in the file `client_secret` lines and traces of one client meet. With `redact` no client address, header
    value, payload byte or user name is stored, so that an export does not give every record back.
    Loading the same files again, renamed or compressed or longer, changes only what they newly say.
    Rows that the store refuses for what they hold become rejects. LoadError when the collector fails or the store.
    """
    words = command(
        collector, paths, requests, requests_format, client_secret, redact=redact, requests_host=requests_host
    )
    return CollectorRun(words).load(store, progress)


@dataclass(slots=True)
class CollectorRun:
    """One run of the collector, by its command line, which another thread may end."""

    words: Sequence[str]
    _process: "subprocess.Popen[bytes] | None" = None
    _is_stopped: bool = False
    _lock: Lock = field(default_factory=Lock)

    def load(self, store: Store, progress: Callable[[Progress], None] | None = None) -> LoadSummary:
        """Store what it says, and link; LoadError where that cannot be done to its end."""
        began = time.monotonic()
        (summary, stored), linked = and_link(store, lambda: self._insert(store, progress or _ignore))
        return LoadSummary(
            files=summary.files,
            connections=summary.connections,
            events=summary.events,
            requests=summary.requests,
            rejected={**summary.rejected, **stored.rejected},
            values_unread=summary.values_unread,
            limits_crossed=summary.limits_crossed,
            erased=stored.erased,
            bytes=summary.bytes,
            seconds=time.monotonic() - began,
            linked=linked,
        )

    def stop(self) -> None:
        """End the collector; nothing more of it is stored."""
        with self._lock:
            self._is_stopped = True
            if self._process is not None:
                self._process.kill()

    def _insert(self, store: Store, progress: Callable[[Progress], None]) -> tuple[CollectorSummary, RowsStored]:
        """Insert every batch; the summary and what became of the rows, or LoadError."""
        summary: CollectorSummary | None = None
        stored = RowsStored()
        with tempfile.TemporaryFile() as complaints:
            process = self._started(complaints)
            assert process.stdout is not None
            reader = _FrameReader(process.stdout)
            try:
                while (frame := reader.next()) is not None and not self._is_stopped:
                    if isinstance(frame, Batch):
                        stored = stored.plus(store_batch(store, frame))
                        del frame  # before another may be read
                        reader.give_back()
                    elif isinstance(frame, Progress):
                        progress(frame)
                    else:
                        summary = frame
            except (StoreError, CatalogueError) as error:
                raise LoadError(str(error)) from error
            except FrameError as error:
                raise LoadError(_last_line(complaints) or str(error)) from error
            finally:
                if summary is None:
                    process.kill()
                code = process.wait()
                reader.stop()
                process.stdout.close()
            if code != 0 or summary is None or self._is_stopped:
                raise LoadError(_last_line(complaints) or f"the collector ended with {code} and without a summary")
        return summary, stored

    def _started(self, complaints: IO[bytes]) -> "subprocess.Popen[bytes]":
        with self._lock:
            if self._is_stopped:
                raise LoadError("it was told to stop before it began")
            try:
                self._process = subprocess.Popen(
                    self.words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=complaints
                )
            except OSError as error:
                raise LoadError(f"cannot run the collector {self.words[0]}: {error.strerror}") from error
            return self._process


def and_link(store: Store, insert: Callable[[], Inserted]) -> tuple[Inserted, LinkSummary]:
    """What `insert` did, and link what it may have changed; also where it ends with a LoadError."""
    if isinstance(store, ServedStore):  # its process links what arrives, also when this one is killed
        try:
            done = insert()
        finally:
            linked = store.operate(StoreOperation.LINK_CHANGED, LinkSummary)
        return done, linked
    new = _New(store)
    try:
        done = insert()
    except LoadError:
        new.link()
        raise
    return done, new.link()


def command(
    collector: Path,
    paths: Sequence[Path],
    requests: Sequence[Path],
    requests_format: Path | None = None,
    client_secret: Path | None = None,
    *,
    redact: bool = False,
    requests_host: str | None = None,
) -> list[str]:
    """The collector's command line: batches to standard output, traces first, then access logs."""
    logs = [word for path in requests for word in ("--requests", str(path))]
    if requests_format is not None:
        logs += ["--requests-format", str(requests_format)]
    if requests_host is not None:
        logs += ["--requests-host", requests_host]
    if client_secret is not None:
        logs += ["--client-secret-file", str(client_secret)]
    if redact:
        logs.append("--redact")
    return [str(collector), "load", "--sink", "-", *logs, "--", *map(str, paths)]


def _ignore(_: Progress) -> None:
    return


class _New:
    """What is to be linked after a load: all that linking has not come to, whoever stored it, so that what a load
    stored which was killed is linked by the next one, and that of one which still runs by whoever ends later."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._wanted = [token for (token,) in store.query("SELECT token FROM link_pending LIMIT 1000").rows]
        self._linked = remembered(store)
        self._before = mark(store)

    def link(self) -> LinkSummary:
        """Link it, and say in the store how far that came. All there is, where somebody wants that (a migration, an
        erasure that was killed), or where nobody knows what was linked."""
        here = mark(self._store)
        if self._wanted or (self._linked is None and self._before != NOTHING):
            linked = link(self._store)
        else:  # a mark of before the store was restored may have what came since
            linked = link_since(self._store, NOTHING if self._linked is None else self._before.common(self._linked))
        remember_up_to(self._store, here)
        if self._wanted:
            gone = "DELETE FROM link_pending WHERE token IN {tokens:Array(String)}"
            self._store.command(gone, {"tokens": self._wanted})
        return linked


class _FrameReader:
    """Frames read ahead by a thread, as far as batches may be held."""

    def __init__(self, output: IO[bytes]) -> None:
        self._output = output
        self._held = Semaphore(_BATCHES_HELD)
        self._frames: SimpleQueue[Frame | FrameError | None] = SimpleQueue()
        self._is_stopped = False
        self._thread = Thread(target=self._read, name="collector output", daemon=True)
        self._thread.start()

    def next(self) -> Frame | None:
        """The next frame, None after the last; FrameError where the output goes wrong."""
        frame = self._frames.get()
        if isinstance(frame, FrameError):
            raise frame
        return frame

    def give_back(self) -> None:
        """A batch is stored and forgotten: one more may be read."""
        self._held.release()

    def stop(self) -> None:
        """Wait for the thread; the collector has ended, so nothing more comes."""
        self._is_stopped = True
        self._held.release()
        self._thread.join()

    def _read(self) -> None:
        try:
            self._held.acquire()  # room for the first batch; further room is taken after each batch
            for frame in frames(cast(BinaryIO, self._output)):
                if self._is_stopped:
                    break
                self._frames.put(frame)
                if isinstance(frame, Batch):
                    self._held.acquire()
        except FrameError as error:
            self._frames.put(error)
        except (OSError, ValueError) as error:
            self._frames.put(FrameError(f"the collector's output cannot be read: {error}"))
        finally:
            self._frames.put(None)


def _last_line(complaints: IO[bytes]) -> str:
    complaints.seek(0)
    lines = complaints.read().decode(errors="replace").strip().splitlines()
    return lines[-1].strip() if lines else ""
