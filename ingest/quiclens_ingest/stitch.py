"""Many small batches of one table as one insert: one schema, one record batch, one IPC stream.

Streams glued together would lose every row after the first stream's, without an error; and an insert per message
would make a part per message.
"""

import io
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from quiclens_ingest.arrow_types import common, widest
from quiclens_ingest.message import columns


class StitchError(Exception):
    """The batches cannot be one block, though each is one of its table: one of them is not what it seemed."""


def stitch(table: str, batches: Sequence[pa.RecordBatch]) -> tuple[bytes, int]:
    """One IPC stream with the rows of all batches in order, and their number; StitchError when that cannot be.

    It has the columns that any batch has, those of a newer catalogue last. Where a batch has none, its rows get null if
    the column may be null, else what the engine takes for a column that is not there: nothing, zero, empty.
    """
    known = columns(table)
    present = [name for name in known if any(name in batch.schema.names for batch in batches)]
    newer = dict.fromkeys(name for batch in batches for name in batch.schema.names if name not in known)
    try:
        fields = [_field(name, known[name], batches) for name in present]
        fields += [_newer_field(name, batches) for name in newer]
        chunks = [pa.chunked_array([_column(batch, field) for batch in batches], type=field.type) for field in fields]
        whole = pa.Table.from_arrays(chunks, schema=pa.schema(fields)).unify_dictionaries().combine_chunks()
        out = io.BytesIO()
        with pa.ipc.new_stream(out, whole.schema) as writer:
            writer.write_table(whole)
    except (pa.ArrowException, ValueError) as error:
        raise StitchError(str(error).partition("\n")[0]) from error
    except Exception as error:  # of some types pyarrow has no arrays: a KeyError, which must not end the process
        raise StitchError(f"{type(error).__name__}: {error}") from error
    return out.getvalue(), whole.num_rows


def encode(table: str, rows: Sequence[Mapping[str, Any]]) -> bytes:
    """Rows as a message's value: one IPC stream with one zstd-compressed record batch."""
    fields = [field for name, field in columns(table).items() if any(name in row for row in rows)]
    schema = pa.schema([_binary_where_bytes(table, field) for field in fields])
    arrays = [pa.array([row.get(field.name) for row in rows], field.type) for field in schema]
    out = io.BytesIO()
    with pa.ipc.new_stream(out, schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_batch(pa.record_batch(arrays, schema=schema))
    return out.getvalue()


def _field(name: str, wanted: pa.Field, batches: Sequence[pa.RecordBatch]) -> pa.Field:
    given = [batch.schema.field(name).type for batch in batches if name in batch.schema.names]
    return pa.field(name, common(given, wanted.type), nullable=wanted.nullable)


def _newer_field(name: str, batches: Sequence[pa.RecordBatch]) -> pa.Field:
    """Of a column of a newer catalogue, whose type the store knows."""
    given = [batch.schema.field(name).type for batch in batches if name in batch.schema.names]
    return pa.field(name, widest(given), nullable=True)


def _column(batch: pa.RecordBatch, field: pa.Field) -> pa.Array:
    if field.name in batch.schema.names:
        column = batch.column(field.name)
        return column if column.type.equals(field.type) else column.cast(field.type)
    if field.nullable:
        return pa.nulls(batch.num_rows, field.type)
    return pa.repeat(_nothing(field.type), batch.num_rows)


def _nothing(kind: pa.DataType) -> pa.Scalar:
    if pa.types.is_dictionary(kind):
        return pa.scalar(_nothing(kind.value_type).as_py(), kind)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return pa.scalar("", kind)
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return pa.scalar(b"", kind)
    if pa.types.is_nested(kind):
        return pa.scalar([], kind)
    return pa.scalar(0, pa.int64()).cast(kind) if not pa.types.is_date(kind) else pa.scalar(0, pa.int32()).cast(kind)


def _binary_where_bytes(table: str, field: pa.Field) -> pa.Field:
    """The catalogue's `bytes` of a reject are raw; ClickHouse's String takes them, Arrow's does not."""
    is_raw = (table, field.name) == ("rejects", "bytes")
    return field.with_type(pa.binary()) if is_raw else field
