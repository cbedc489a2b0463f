"""Arrow batches for tests, made from the catalogue: name the columns that matter, the rest get their type's default."""

import io
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

import pyarrow as pa
from quiclens_schema.catalogue import load

_SCALARS: Mapping[str, tuple[Any, Any]] = {
    "String": (pa.string(), ""),
    "Bool": (pa.bool_(), False),
    "Date": (pa.date32(), date(1970, 1, 1)),
    "DateTime('UTC')": (pa.timestamp("s", "UTC"), 0),
    "DateTime64(6, 'UTC')": (pa.timestamp("us", "UTC"), 0),
    "Float64": (pa.float64(), 0.0),
    "Int64": (pa.int64(), 0),
    "UInt8": (pa.uint8(), 0),
    "UInt16": (pa.uint16(), 0),
    "UInt32": (pa.uint32(), 0),
    "UInt64": (pa.uint64(), 0),
}


def batch(table: str, rows: Sequence[Mapping[str, Any]]) -> tuple[str, bytes, int]:
    """One complete IPC stream with every column that the collector sends: arguments of `Store.insert_arrow`."""
    columns = [column for column in load().table(table).columns if column.is_sent]
    unknown = {name for row in rows for name in row} - {column.name for column in columns}
    assert not unknown, f"no columns {unknown} in {table}"
    fields, arrays = [], []
    for column in columns:
        kind, default = arrow_type(column.type)
        fields.append(pa.field(column.name, kind, nullable=default is None))
        arrays.append(pa.array([row.get(column.name, default) for row in rows], kind))
    return table, stream(pa.schema(fields), arrays), len(rows)


def stream(schema: Any, arrays: Sequence[Any]) -> bytes:
    """The arrays as one record batch in one IPC stream."""
    out = io.BytesIO()
    with pa.ipc.new_stream(out, schema) as writer:
        writer.write_batch(pa.record_batch(arrays, schema=schema))
    return out.getvalue()


def arrow_type(clickhouse: str) -> tuple[Any, Any]:
    """The Arrow type that stands for a ClickHouse type, and the value for a row that does not say."""
    if clickhouse in _SCALARS:
        return _SCALARS[clickhouse]
    outer, _, inner = clickhouse.removesuffix(")").partition("(")
    if outer == "Nullable":
        return arrow_type(inner)[0], None
    if outer == "LowCardinality":
        return arrow_type(inner)
    if outer == "Array":
        return pa.list_(pa.field("item", arrow_type(inner)[0], nullable=False)), []
    if outer == "Map":
        key, _, value = inner.partition(", ")
        return pa.map_(arrow_type(key)[0], arrow_type(value)[0]), []
    raise AssertionError(f"no Arrow type for {clickhouse}")
