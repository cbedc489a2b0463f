"""Rows for a store that is served: Arrow streams as collectors send them, and a store filled before it is served."""

import datetime
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from migrated import migrated
from quiclens_ingest.linking import remember_all
from quiclens_schema import catalogue
from quiclens_schema import store as stores
from quiclens_schema.migrate import migrate
from quiclens_schema.served import ROWS_PATH, ROWS_TYPE
from serve_process import Got, Served

ALIAS = {"alias": "aa", "connection_id": "cc", "vantage": "server", "trace_id": "1" * 16, "role": "source"}


def stream(columns: dict[str, Sequence[Any]], batches: int = 1, inside: str | None = None, **types: Any) -> bytes:
    """An Arrow IPC stream; columns are text unless a type is given, buffers compressed as `inside` says."""
    schema = pa.schema([pa.field(name, types.get(name, pa.string())) for name in columns])
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, schema, options=pa.ipc.IpcWriteOptions(compression=inside)) as writer:
        for _ in range(batches):
            writer.write_batch(pa.record_batch([pa.array(v, schema.field(n).type) for n, v in columns.items()], schema))
    return sink.getvalue()


def aliases(**more: Sequence[Any]) -> bytes:
    """Two rows of `connection_aliases`; more columns replace those or are added, and say how many rows there are."""
    return batches_of_aliases(1, None, more)


def batches_of_aliases(batches: int, inside: str | None, more: Mapping[str, Sequence[Any]]) -> bytes:
    """The same rows in several batches, buffers compressed as `inside` says."""
    count = len(next(iter(more.values()), "ab"))
    columns: dict[str, Sequence[Any]] = {name: [value, value + "2"][:count] for name, value in ALIAS.items()}
    columns |= more
    columns |= {"version": [1] * count, "trace_day": [datetime.date(2026, 1, 1)] * count}
    return stream(columns, batches, inside, version=pa.uint64(), trace_day=pa.date32())


def send(served: Served, table: str, data: bytes, rows: int, **headers: str) -> Got:
    """Send rows as a collector does; header names with `_` for `-`."""
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    path = ROWS_PATH.format(table=table)
    return served.request(data, "POST", path, {"Content-Type": ROWS_TYPE, **given}, rows=str(rows))


def fill(folder: Path, tables: Mapping[str, Iterable[Mapping[str, Any]]]) -> None:
    """Make a store in a folder that nobody serves yet. What it has of `requests` counts as linked."""
    lines = {table: "\n".join(json.dumps(row) for row in rows) for table, rows in tables.items()}
    stored = {table: catalogue.load().table(table).stored for table in tables}
    plant(folder, *(f"INSERT INTO {stored[table]} FORMAT JSONEachRow\n{found}" for table, found in lines.items()))


def logged_request(request_id: str, at: datetime.datetime, duration_us: int, **more: Any) -> dict[str, Any]:
    """A row of `requests` of an access log's line, without a trace; `more` replaces or adds columns."""
    log = {"source": "log", "link": "none", "coverage": "none", "weight": 1, "complete": True, "status": 200}
    times = {"started_hour": str(at.replace(minute=0, second=0)), "started_at": str(at), "duration_us": duration_us}
    return {"request_id": request_id} | times | log | more


def plant(folder: Path, *statements: str) -> None:
    """Make a store in a folder that nobody serves yet, by statements. What it has of `requests` counts as linked."""
    migrated(folder)
    with stores.open(f"chdb:{folder}") as store:
        migrate(store)
        for statement in statements:
            store.command(statement)
        remember_all(store)
