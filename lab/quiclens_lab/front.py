"""`quiclens-lab front`: can strangers' sockets, or a reader's largest answers, keep `quiclens serve` from its work?

A store is served by a process of its own. Beside it some hold sockets that say nothing, half of a request's head, or
nothing more after one request, and open another for each that is closed; and readers ask for answers of hundreds of
megabytes in every format that the engine writes. Meanwhile `/ping` is asked and rows are inserted: each must be
answered, every row must be there at the end, and the process must stay below 2 GiB.
"""

import asyncio
import http.client
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import chdb
from quiclens_schema.served import ROWS_PATH, ROWS_TYPE

from quiclens_lab.judgement import Judgement
from quiclens_lab.served import Served, served

SOCKETS = 2_000
ROWS = 500_000
MOST_BYTES = 2 << 30
PING_SECONDS = 5.0
INSERT_SECONDS = 30.0
_READERS = 4
_AGAIN_SECONDS = 5.0
_HEAD = b"GET /ping HTTP/1.1\r\nHost: 127.0.0.1\r\n"
_LARGEST = (
    "SELECT number, repeat('x', 1000) AS text FROM numbers({rows})",
    "SELECT repeat('\\0', 1000) AS text FROM numbers({rows})",  # JSON writes six bytes for each
    "SELECT groupArray(number) AS numbers FROM numbers({rows} * 50)",
)
_PAGES = ("/api/v1/requests?limit=1000", "/api/v1/reports/tail", "/api/v1/different", "/requests", "/api/openapi.json")

Row = dict[str, Any]


@dataclass
class RequestCounts:
    """What became of requests of one kind."""

    milliseconds: list[float] = field(default_factory=list)
    failures: Counter[str] = field(default_factory=Counter)

    def document(self) -> Row:
        took = sorted(self.milliseconds) or [0.0]
        return {
            "answered": len(self.milliseconds),
            "p50_ms": round(took[len(took) // 2], 1),
            "p99_ms": round(took[int(len(took) * 0.99)], 1),
            "slowest_ms": round(took[-1], 1),
            "failures": dict(self.failures),
        }


def front(
    sockets: int, rows: int, formats: Sequence[str], seconds: int, keep: bool, progress: Callable[[int, int], None]
) -> Row:
    """Hold sockets and ask for answers of `rows` rows of a kilobyte in each format; until all were asked for, and for
    `seconds` at least. `passes` where nothing else suffered."""
    judgement = Judgement("front")
    every = output_formats()
    formats = formats or every
    judgement.leave_out(sockets < SOCKETS, f"{sockets:,} sockets of {SOCKETS:,}")
    judgement.leave_out(rows < ROWS, f"answers of {rows:,} rows, not {ROWS:,}")
    unasked = [name for name in every if name not in formats]
    judgement.leave_out(bool(unasked), f"formats: {', '.join(unasked)}")
    with tempfile.TemporaryDirectory(prefix="quiclens-front-") as folder, served(Path(folder)) as running:
        before = running.memory_bytes()
        over = threading.Event()
        pings, inserts, reads = RequestCounts(), RequestCounts(), Reads()
        holder = IdleSockets(running.port, sockets)
        inserted: list[str] = []
        tasks = [
            threading.Thread(target=holder.run),
            threading.Thread(target=_ping, args=(running, pings, over)),
            threading.Thread(target=_insert, args=(running, inserts, inserted, over)),
        ]
        for task in tasks:
            task.start()
        try:
            holder.ready.wait(60)
            began = time.monotonic()
            reads.run(running, formats, rows, progress)
            time.sleep(max(0.0, began + seconds - time.monotonic()))
        finally:
            over.set()
            holder.stop()
            for task in tasks:
                task.join()
        largest = running.memory_bytes()
        is_alive = running.process.poll() is None
        missing = set(inserted) - set(_stored(running)) if is_alive else set(inserted)
    judgement.want(is_alive, "the process ended")
    judgement.want(not pings.failures and bool(pings.milliseconds), "a /ping was not answered in 5 s")
    judgement.want(not inserts.failures and bool(inserts.milliseconds), "an insert was not answered in 30 s")
    judgement.want(not missing and bool(inserted), f"{len(missing)} rows are not there, of {len(inserted)}")
    judgement.want(largest < MOST_BYTES, f"{largest >> 20} MiB were held, not less than {MOST_BYTES >> 20}")
    judgement.want(holder.opened >= sockets, f"{holder.opened} sockets were opened, not {sockets}")
    judgement.found |= {
        "sockets": {"held": sockets, "opened": holder.opened, "closed_by_the_server": holder.closed},
        "ping": pings.document(),
        "insert": inserts.document(),
        "reads": reads.document(),
        "memory_mib": {"before": before >> 20, "largest": largest >> 20},
    }
    return judgement.document(keep)


def output_formats() -> list[str]:
    """Every format that the engine writes."""
    return str(_engine("SELECT name FROM system.formats WHERE is_output ORDER BY name", "TSVRaw")).split()


class Reads:
    """A reader's requests for the largest answers."""

    def __init__(self) -> None:
        self._statuses: dict[str, Counter[int | str]] = {}
        self._bytes: Counter[str] = Counter()

    def run(self, running: Served, formats: Sequence[str], rows: int, progress: Callable[[int, int], None]) -> None:
        work = [(name, f"{sql.format(rows=rows)} FORMAT {name}") for name in formats for sql in _LARGEST]
        work += [(path, "") for path in _PAGES]
        left, lock = iter(work), threading.Lock()

        def read() -> None:
            while True:
                with lock:
                    found = next(left, None)
                if found is None:
                    return
                name, sql = found
                status, size = self._one(running, name, sql)
                with lock:
                    self._statuses.setdefault(name, Counter())[status] += 1
                    self._bytes[name] += size
                    progress(sum(each.total() for each in self._statuses.values()), len(work))

        threads = [threading.Thread(target=read) for _ in range(_READERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def document(self) -> Row:
        return {
            name: {"answers": {str(status): count for status, count in found.items()}, "bytes": self._bytes[name]}
            for name, found in sorted(self._statuses.items())
        }

    def _one(self, running: Served, name: str, sql: str) -> tuple[int | str, int]:
        try:
            if not sql:
                return running.ask("GET", name, token=running.reader)
            return running.ask("POST", "/", sql, running.reader)
        except (OSError, http.client.HTTPException) as error:  # an answer that is cut says so by its end
            return type(error).__name__, 0


class IdleSockets:
    """Sockets that want nothing, in a loop of their own; each that the server closes is opened again after a while."""

    def __init__(self, port: int, count: int) -> None:
        self.ready = threading.Event()
        self.opened = self.closed = 0
        self._port = port
        self._count = count
        self._loop = asyncio.new_event_loop()
        self._over = asyncio.Event()

    def run(self) -> None:
        try:
            self._loop.run_until_complete(self._hold_all())
        finally:
            self._loop.close()

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._over.set)

    async def _hold_all(self) -> None:
        tasks = [asyncio.create_task(self._hold(number)) for number in range(self._count)]
        while self.opened < self._count and not self._over.is_set():
            await asyncio.sleep(0.05)
        self.ready.set()
        await self._over.wait()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0.1)  # in which the last connections are closed

    async def _hold(self, number: int) -> None:
        said = (b"", _HEAD, _HEAD + b"\r\n")[number % 3]
        while True:
            with suppress(OSError):
                reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
                self.opened += 1
                try:
                    writer.write(said)
                    while await reader.read(1 << 16):
                        pass
                finally:
                    writer.transport.abort()
            self.closed += 1
            await asyncio.sleep(_AGAIN_SECONDS)


def _ping(running: Served, asked: RequestCounts, over: threading.Event) -> None:
    while not over.wait(0.05):
        _timed(asked, lambda: running.ask("GET", "/ping", seconds=PING_SECONDS))


def _insert(running: Served, asked: RequestCounts, inserted: list[str], over: threading.Event) -> None:
    path = ROWS_PATH.format(table="connection_aliases") + "?rows=1"
    while not over.wait(0.2):
        name = f"front-{len(inserted) + asked.failures.total()}"
        body = _row(name)
        if _timed(asked, lambda: running.ask("POST", path, body, running.writer, ROWS_TYPE, INSERT_SECONDS)):  # noqa: B023
            inserted.append(name)


def _timed(asked: RequestCounts, ask: Callable[[], tuple[int, int]]) -> bool:
    began = time.perf_counter()
    try:
        status, _ = ask()
    except (OSError, http.client.HTTPException) as error:
        asked.failures[type(error).__name__] += 1
        return False
    if status != 200:
        asked.failures[str(status)] += 1
        return False
    asked.milliseconds.append((time.perf_counter() - began) * 1000)
    return True


def _row(name: str) -> bytes:
    """One row of `connection_aliases` as an Arrow stream."""
    sql = (
        f"SELECT '{name}' AS alias, '{name}' AS connection_id, 'server' AS vantage, "
        "'00000000000000000000000000000000' AS trace_id, 'source' AS role, "
        "toUInt64(1) AS version, toDate32('2026-01-01') AS trace_day"
    )
    found: bytes = _engine(sql, "ArrowStream").bytes()
    return found


def _engine(sql: str, format: str) -> Any:
    return chdb.query(sql, format)  # type: ignore[no-untyped-call]


def _stored(running: Served) -> list[str]:
    sql = "SELECT alias FROM connection_aliases WHERE startsWith(alias, 'front-') FORMAT TSV"
    connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=60)
    try:
        connection.request("POST", "/", sql, {"X-ClickHouse-Key": running.reader})
        return connection.getresponse().read().decode().split()
    finally:
        connection.close()
