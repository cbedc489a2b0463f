"""What the process that holds an embedded store does to it: rows in, linking, retention, migration.

All writing of a served store is here; nothing that arrives over the network becomes a statement.
"""

import logging
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from threading import Event, Thread
from typing import Any

from pydantic import TypeAdapter
from quiclens_ingest.link import LinkSummary, link
from quiclens_ingest.linking import Linker
from quiclens_schema import catalogue
from quiclens_schema.arrow_schema import row_count
from quiclens_schema.migrate import Migrated, least, migrate, migrations
from quiclens_schema.served import StoreOperation
from quiclens_schema.store import Store, StoreError

from quiclens_store_server.erase import Erasure, ErasureChoice, erase
from quiclens_store_server.retention import Sweep, sweep
from quiclens_web.front.keep import Keep
from quiclens_web.front.metrics import StoreMetrics

_log = logging.getLogger("quiclens.serve")

_LONGEST_SWEEP_SECONDS = 3600.0
_LINK_SECONDS, _COUNT_SECONDS = 2.0, 15.0
_SETTINGS_ARE_WRONG = 36  # ClickHouse's BAD_ARGUMENTS
_UNKNOWN_TABLE = 60
_DATA_IS_CUT = 33  # ClickHouse's CANNOT_READ_ALL_DATA


class Holder:
    """The hands on one embedded store; every method may be called from any thread, and all but `insert` may be long."""

    def __init__(self, store: Store, keep: Keep, metrics: StoreMetrics, tell: Callable[[str], None]) -> None:
        self._store = store
        self._keep = keep
        self._metrics = metrics
        self._tell = tell
        self._linker = Linker(store, _LINK_SECONDS, _COUNT_SECONDS, metrics.linking)
        self._is_ending = Event()
        self._sweeper = Thread(target=self._sweep_for_ever, name="retention", daemon=True)
        self._sweeping_since: float | None = None

    def unwell(self) -> Iterator[str]:
        """Why this process does not look after its store: nothing, when all is well."""
        if self._sweeper.ident is not None and not self._sweeper.is_alive() and not self._is_ending.is_set():
            yield "retention has ended"
        since = self._sweeping_since
        if since is not None and time.monotonic() - since > _LONGEST_SWEEP_SECONDS:
            yield f"a retention sweep has run for {time.monotonic() - since:.0f} s"
        yield from self._linker.unwell()

    def start(self) -> None:
        """Begin to link what arrives and to drop what is too old."""
        self._linker.lead(True)
        self._sweeper.start()

    def close(self) -> None:
        """End both, after what they are doing."""
        self._is_ending.set()
        self._linker.close()
        if self._sweeper.ident is not None:
            self._sweeper.join(timeout=30)

    def insert(self, table: str, stream: bytes, rows: int) -> int:
        """Store one complete Arrow stream of `rows` rows; how many were dropped, since what they are of was erased.

        StoreError, whose code is ClickHouse's, when it cannot be.
        """
        if table not in catalogue.load().tables or catalogue.load().tables[table].is_linked:
            raise StoreError(f"table {table!r} is none that rows are sent to", _UNKNOWN_TABLE)
        try:
            found = row_count(stream)
        except ValueError as error:
            raise StoreError(f"table {table}: {error}", _DATA_IS_CUT) from error
        if found != rows:
            raise StoreError(f"table {table}: the stream has {found} rows, {rows} were announced", _DATA_IS_CUT)
        erased = self._store.insert_arrow(table, stream, rows)
        self._metrics.rows_erased.inc(erased)
        return erased

    def operate(self, operation: StoreOperation, arguments: dict[str, Any]) -> bytes:
        """Run a named operation; its result as JSON. StoreError when it fails or its arguments cannot be."""
        if operation is StoreOperation.RETENTION:
            try:
                keep = TypeAdapter(Keep).validate_python(arguments)
            except ValueError as error:
                raise StoreError(f"retention: {error}", _SETTINGS_ARE_WRONG) from error
            return TypeAdapter(Sweep).dump_json(self._swept(keep))
        if operation is StoreOperation.ERASE:
            try:
                chosen = TypeAdapter(ErasureChoice).validate_python(arguments)
            except ValueError as error:
                raise StoreError(f"erase: {error}", _SETTINGS_ARE_WRONG) from error
            return TypeAdapter(Erasure).dump_json(erase(self._store, chosen, datetime.now(UTC)))
        if arguments:
            raise StoreError(f"{operation} takes no arguments", _SETTINGS_ARE_WRONG)
        if operation is StoreOperation.MIGRATE:
            known = migrations()
            return TypeAdapter(Migrated).dump_json(Migrated(migrate(self._store), len(known), least(known)))
        linked = link(self._store) if operation is StoreOperation.LINK else self._linker.catch_up()
        return TypeAdapter(LinkSummary).dump_json(linked)

    def _sweep_for_ever(self) -> None:
        """Look after old rows now and then; a look that fails is logged and counted, and the next comes."""
        while True:
            self._sweeping_since = time.monotonic()
            try:
                for line in self._swept(self._keep).told:
                    self._tell(line)
            except Exception as error:  # whatever it was, old rows are looked after again
                self._metrics.sweeps_failed.inc()
                is_of_store = isinstance(error, StoreError)
                said = str(error).partition("\n")[0]
                _log.error("retention failed: %s", said, exc_info=None if is_of_store else error)
            self._sweeping_since = None
            if self._is_ending.wait(self._keep.every_seconds):
                return

    def _swept(self, keep: Keep) -> Sweep:
        done = sweep(self._store, keep, datetime.now(UTC))
        self._metrics.disk.set(done.disk_bytes)
        for dropped in done.dropped:
            self._metrics.partitions_dropped.labels(dropped.why).inc()
            self._metrics.rows_dropped.labels(dropped.why).inc(dropped.rows)
            self._metrics.bytes_dropped.labels(dropped.why).inc(dropped.bytes)
        return done
