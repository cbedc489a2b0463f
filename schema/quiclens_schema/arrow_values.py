"""What a stranger's Arrow stream takes before it is read, and its columns before they are looked at.

Imports pyarrow, which starts threads: a process that is yet to confine itself imports this module later.
"""

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from quiclens_schema.arrow_schema import uncompressed_bytes


def declared_sizes(source: pa.BufferReader) -> Iterator[tuple[bool, int]]:
    """Of each record batch and dictionary of a stream, whether it is a batch, and its bytes once it is decompressed, as
    it declares them. ArrowException, ValueError where it is no stream."""
    for message in pa.ipc.MessageReader.open_stream(source):
        if message.type in ("record batch", "dictionary"):
            metadata = message.metadata.to_pybytes()
            yield message.type == "record batch", uncompressed_bytes(metadata, memoryview(message.body))


def is_text(kind: pa.DataType) -> bool:
    """Whether values are text, or the bytes of one."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or is_bytes(kind))


def is_bytes(kind: pa.DataType) -> bool:
    """Whether values are bytes of which nobody said that they are text."""
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def plain_text_bytes(column: pa.DictionaryArray) -> int:
    """Bytes of the texts of a column, were each row to have its own: they are counted, not made."""
    lengths = pc.binary_length(column.dictionary).take(column.indices)
    return int(pc.sum(lengths).as_py() or 0)
