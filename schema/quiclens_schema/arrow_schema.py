"""Field names, number of rows and sizes of an Arrow IPC stream, read from its messages without an Arrow library.

The engine ignores columns it does not know, defaults those that are missing, and takes a cut stream or the first of
several, in silence. So every batch's names and rows are known before it is inserted.
Layout: Arrow's Message.fbs and Schema.fbs, https://arrow.apache.org/docs/format/Columnar.html#ipc-streaming-format.
"""

import struct

_CONTINUATION = 0xFFFFFFFF
_MESSAGE_HEADER_TYPE, _MESSAGE_HEADER, _MESSAGE_BODY_LENGTH = 1, 2, 3  # slots of table Message
_HEADER_IS_SCHEMA, _HEADER_IS_DICTIONARY, _HEADER_IS_BATCH = 1, 2, 3
_DICTIONARY_DATA = 1  # slot of table DictionaryBatch
_BATCH_LENGTH, _BATCH_BUFFERS, _BATCH_COMPRESSION = 0, 2, 3  # slots of table RecordBatch
_SCHEMA_FIELDS = 1  # slot of table Schema
_FIELD_NAME, _FIELD_CHILDREN = 0, 5  # slots of table Field


def field_names(stream: bytes) -> tuple[str, ...]:
    """Names of the top-level fields in order; ValueError when the bytes are no Arrow IPC stream."""
    try:
        return _field_names(stream)
    except (struct.error, UnicodeDecodeError, IndexError) as error:
        raise ValueError(f"not an Arrow IPC stream: {error}") from None


def has_more_fields(stream: bytes, most: int) -> bool:
    """Whether a stream's schema has more fields than so many, those inside lists, maps and structs included: asked
    before anything is made of them. ValueError when the bytes are no Arrow IPC stream."""
    try:
        buffer, schema = _schema(stream)
        waiting, seen = [(schema, _SCHEMA_FIELDS)], 0
        while waiting:
            table, slot = waiting.pop()
            place = _slot(buffer, table, slot)
            if place is None:
                continue
            vector = _follow(buffer, place)
            (count,) = struct.unpack_from("<I", buffer, vector)
            seen += count
            if seen > most:
                return True
            fields = (_follow(buffer, vector + 4 + 4 * index) for index in range(count))
            waiting += [(field, _FIELD_CHILDREN) for field in fields]
    except (struct.error, IndexError) as error:
        raise ValueError(f"not an Arrow IPC stream: {error}") from None
    return False


def row_count(stream: bytes) -> int:
    """Rows of one complete stream; ValueError when it is cut, has no end mark, or has bytes after it."""
    try:
        return _row_count(stream)
    except (struct.error, IndexError) as error:
        raise ValueError(f"not an Arrow IPC stream, or cut: {error}") from None


def _row_count(stream: bytes) -> int:
    rows = at = 0
    while True:
        if at >= len(stream):
            raise ValueError("the Arrow stream is cut: it has no end mark")
        continuation, length = struct.unpack_from("<II", stream, at)
        at += 8
        if continuation != _CONTINUATION:
            raise ValueError("not an Arrow IPC stream: it does not begin with a message")
        if not length:
            break
        buffer = stream[at : at + length]
        message = _follow(buffer, 0)
        if _is_record_batch(buffer, message):
            rows += _number(buffer, _follow(buffer, _slot(buffer, message, _MESSAGE_HEADER) or 0), _BATCH_LENGTH)
        at += length + _number(buffer, message, _MESSAGE_BODY_LENGTH)
    if at != len(stream):
        raise ValueError("the Arrow stream has bytes after its end mark; they would be lost")
    return rows


def _is_record_batch(buffer: bytes, message: int) -> bool:
    kind = _slot(buffer, message, _MESSAGE_HEADER_TYPE)
    return kind is not None and buffer[kind] == _HEADER_IS_BATCH


def _number(buffer: bytes, table: int, slot: int) -> int:
    """A whole number of 64 bits, 0 where the table leaves it out, as FlatBuffers has it."""
    place = _slot(buffer, table, slot)
    (value,) = (0,) if place is None else struct.unpack_from("<q", buffer, place)
    if value < 0:
        raise ValueError("not an Arrow IPC stream: a length is negative")
    return int(value)


def uncompressed_bytes(metadata: bytes, body: memoryview) -> int:
    """What the buffers of one batch message come to once they are decompressed, as they themselves declare.

    A few bytes can declare any length, so this is asked before anything is decompressed. ValueError when the
    message is no batch.
    """
    try:
        return _uncompressed_bytes(metadata, body)
    except (struct.error, IndexError) as error:
        raise ValueError(f"not an Arrow batch: {error}") from None


def _uncompressed_bytes(metadata: bytes, body: memoryview) -> int:
    message = _follow(metadata, 0)
    kind = _slot(metadata, message, _MESSAGE_HEADER_TYPE)
    header = _slot(metadata, message, _MESSAGE_HEADER)
    if kind is None or header is None or metadata[kind] not in (_HEADER_IS_DICTIONARY, _HEADER_IS_BATCH):
        raise ValueError("not an Arrow batch")
    batch = _follow(metadata, header)
    if metadata[kind] == _HEADER_IS_DICTIONARY:
        data = _slot(metadata, batch, _DICTIONARY_DATA)
        if data is None:
            return 0
        batch = _follow(metadata, data)
    buffers = _slot(metadata, batch, _BATCH_BUFFERS)
    is_compressed = _slot(metadata, batch, _BATCH_COMPRESSION) is not None
    if buffers is None:
        return 0
    vector = _follow(metadata, buffers)
    (count,) = struct.unpack_from("<I", metadata, vector)
    total = 0
    for index in range(count):
        offset, length = struct.unpack_from("<qq", metadata, vector + 4 + 16 * index)
        declared = -1
        if is_compressed and length >= 8:
            (declared,) = struct.unpack_from("<q", body, offset)
        total += declared if declared >= 0 else length  # -1: left as it is
    return total


def _schema(stream: bytes) -> tuple[bytes, int]:
    """The first message, and the place of its table Schema."""
    continuation, length = struct.unpack_from("<II", stream)
    if continuation != _CONTINUATION or length > len(stream):
        raise ValueError("not an Arrow IPC stream: it does not begin with a message")
    buffer = stream[8 : 8 + length]
    message = _follow(buffer, 0)
    kind = _slot(buffer, message, _MESSAGE_HEADER_TYPE)
    header = _slot(buffer, message, _MESSAGE_HEADER)
    if kind is None or header is None or buffer[kind] != _HEADER_IS_SCHEMA:
        raise ValueError("not an Arrow IPC stream: its first message is no schema")
    return buffer, _follow(buffer, header)


def _field_names(stream: bytes) -> tuple[str, ...]:
    buffer, schema = _schema(stream)
    fields = _slot(buffer, schema, _SCHEMA_FIELDS)
    if fields is None:
        return ()
    vector = _follow(buffer, fields)
    (count,) = struct.unpack_from("<I", buffer, vector)
    return tuple(_name(buffer, _follow(buffer, vector + 4 + 4 * index)) for index in range(count))


def _follow(buffer: bytes, at: int) -> int:
    (offset,) = struct.unpack_from("<I", buffer, at)
    return at + int(offset)


def _slot(buffer: bytes, table: int, slot: int) -> int | None:
    """Place of a table's field, or None where the table leaves it out."""
    (back,) = struct.unpack_from("<i", buffer, table)
    vtable = table - back
    (size,) = struct.unpack_from("<H", buffer, vtable)
    entry = 4 + 2 * slot
    if entry >= size:
        return None
    (offset,) = struct.unpack_from("<H", buffer, vtable + entry)
    return table + int(offset) if offset else None


def _name(buffer: bytes, table: int) -> str:
    place = _slot(buffer, table, _FIELD_NAME)
    if place is None:
        return ""
    start = _follow(buffer, place)
    (length,) = struct.unpack_from("<I", buffer, start)
    return buffer[start + 4 : start + 4 + length].decode()
