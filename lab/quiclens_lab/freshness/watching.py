"""Asks the store, all the time, for the requests that were written and could not be queried before."""

import json
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Event, Lock, Thread
from typing import Any

from quiclens_lab.errors import LabError

PAUSE_S = 0.15
_STREAMS = """SELECT connection_id, stream_id, max(last_seq) FROM streams
WHERE connection_id IN ({ids}) AND complete GROUP BY connection_id, stream_id FORMAT JSONCompact"""
# How many records from the first one on are there without a gap.
_EVENTS = """SELECT connection_id, arraySort(groupUniqArray(seq)) AS seqs,
arrayFirstIndex((seq, at) -> seq != at - 1, seqs, arrayEnumerate(seqs)) AS gap,
if(gap = 0, length(seqs), gap - 1) AS whole FROM events
WHERE connection_id IN ({ids}) GROUP BY connection_id"""
_WHOLE = f"SELECT connection_id, whole FROM ({_EVENTS}) FORMAT JSONCompact"


def asked(url: str, sql: str) -> list[list[Any]]:
    """The rows of a question to `quiclens serve`; LabError with its answer where it refuses."""
    request = urllib.request.Request(f"{url}/", sql.encode(), {"Content-Type": "text/plain"})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            rows: list[list[Any]] = json.load(answer)["data"]
    except urllib.error.HTTPError as error:
        said = error.read().decode(errors="replace").strip()
        raise LabError(f"{sql.partition(' ')[0]} … {sql[-60:]}: {error.code} {said[-500:]}") from error
    return rows


@dataclass
class SeenRequest:
    """A request, when its last record was written, and when its row and its events could be queried, since 1970."""

    connection_id: str
    stream_id: int
    last_seq: int
    written_at: float
    stream_at: float | None = None
    events_at: float | None = None

    @property
    def is_waiting(self) -> bool:
        return self.stream_at is None or self.events_at is None


@dataclass
class WriterWatch:
    """One writer's requests, and how many events were written and stored, second by second."""

    url: str
    requests: list[SeenRequest] = field(default_factory=list)
    written: list[tuple[float, int]] = field(default_factory=list)
    stored: list[tuple[float, int]] = field(default_factory=list)
    before: int = 0
    failure: Exception | None = None
    _waiting: list[SeenRequest] = field(default_factory=list)
    _lock: Any = field(default_factory=Lock)
    _over: Event = field(default_factory=Event)

    def run(self, words: list[str], patience_s: float) -> None:
        """Run the writer to its end, and until all that it wrote can be queried, or patience ends."""
        self.before = self._count()
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as writer:
            threads = [Thread(target=self._kept, args=(work,)) for work in (self._watch, self._count_on)]
            for thread in threads:
                thread.start()
            try:
                self._listen(writer)
                until = time.monotonic() + patience_s
                while self.failure is None and self._is_behind() and time.monotonic() < until:
                    time.sleep(PAUSE_S)
            finally:
                self._over.set()
                for thread in threads:
                    thread.join()
        if self.failure is not None:
            raise self.failure
        if writer.returncode:
            raise OSError(f"the writer ended with {writer.returncode}")

    def _kept(self, work: Callable[[], None]) -> None:
        """Run a thread's work; what ends it ends the run, too."""
        try:
            work()
        except Exception as error:
            self.failure = error

    def _is_behind(self) -> bool:
        return bool(self._waiting) or self.behind_at(time.time()) > 0

    def behind_at(self, at: float) -> int:
        """Events written and not stored at a moment, by what was known last."""
        written = max((count for when, count in self.written if when <= at), default=0)
        stored = max((count for when, count in self.stored if when <= at), default=0)
        return max(0, written - stored)

    def _listen(self, writer: "subprocess.Popen[str]") -> None:
        assert writer.stdout is not None
        for line in writer.stdout:
            said = json.loads(line)
            if "written" in said:
                self.written.append((said["at"], said["written"]))
                continue
            connection_id, stream_id, last_seq = said["request"]
            seen = SeenRequest(connection_id, stream_id, last_seq, said["at"])
            self.requests.append(seen)
            with self._lock:
                self._waiting.append(seen)

    def _watch(self) -> None:
        while not self._over.wait(PAUSE_S):
            with self._lock:
                waiting = list(self._waiting)
            if not waiting:
                continue
            ids = ", ".join(f"'{each}'" for each in {each.connection_id for each in waiting})
            rows = {(name, int(stream)): int(seq) for name, stream, seq in asked(self.url, _STREAMS.format(ids=ids))}
            streams_at = time.time()
            whole = {name: int(count) for name, count in asked(self.url, _WHOLE.format(ids=ids))}
            events_at = time.time()
            for each in waiting:
                if each.stream_at is None and rows.get((each.connection_id, each.stream_id), -1) >= each.last_seq:
                    each.stream_at = streams_at
                if each.events_at is None and whole.get(each.connection_id, 0) > each.last_seq:
                    each.events_at = events_at
            with self._lock:
                self._waiting = [each for each in self._waiting if each.is_waiting]

    def _count_on(self) -> None:
        while not self._over.wait(1.0):
            count = self._count() - self.before
            self.stored.append((time.time(), count))

    def _count(self) -> int:
        return int(asked(self.url, "SELECT count() FROM events FORMAT JSONCompact")[0][0])
