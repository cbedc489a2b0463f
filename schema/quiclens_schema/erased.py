"""What was erased from a store stays erased: rows of it are dropped when its files, topics or uploads come again.

Of an erased thing the store keeps a keyed hash alone (table `erased`). The key is a file that only its user can read:
in an embedded store's folder, else where QUICLENS_ERASE_KEY_FILE says. Without the key nothing is written to a store
that something was erased from.
"""

import hmac
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from hashlib import blake2b
from pathlib import Path
from typing import Any

from quiclens_schema.errors import StoreError
from quiclens_schema.key_file import KEY_BYTES, make

KEY_VARIABLE = "QUICLENS_ERASE_KEY_FILE"
KEY_FILE = "quiclens-erase-key"
_HASH_BYTES = 16
_ROWS_AT_ONCE = 10_000
_ROWS_AT_MOST = 16 << 20  # of a stream that is looked through
_BYTES_AT_MOST = 1 << 30  # of a stream once it is decompressed, and of what is looked at as plain columns
_INCORRECT_DATA = 117  # ClickHouse's code: whoever sends this again is refused again


class HashKind(StrEnum):
    """What a hash is of."""

    CONNECTION = "connection"  # a connection's id, or another id that it went by
    TRACE = "trace"  # the id of a trace of it
    LINE = "line"  # a line of an access log: log_id/offset
    REJECT = "reject"  # source/offset


# Columns whose values, joined by "/", make a row one of an erased thing.
_IDENTITIES: Mapping[str, tuple[tuple[HashKind, tuple[str, ...]], ...]] = {
    "events": ((HashKind.CONNECTION, ("connection_id",)),),
    "connections": ((HashKind.CONNECTION, ("connection_id",)),),
    "streams": ((HashKind.CONNECTION, ("connection_id",)),),
    "episodes": ((HashKind.CONNECTION, ("connection_id",)),),
    "connection_aliases": ((HashKind.CONNECTION, ("connection_id",)),),
    "request_lines": ((HashKind.CONNECTION, ("connection_id",)), (HashKind.LINE, ("log_id", "offset"))),
    "rejects": (
        (HashKind.TRACE, ("trace_id",)),
        (HashKind.TRACE, ("source",)),
        (HashKind.REJECT, ("source", "offset")),
    ),
}


@dataclass(frozen=True, slots=True)
class Key:
    """The secret of the hashes."""

    secret: bytes

    def hash(self, kind: HashKind, identity: str) -> str:
        """32 hex digits that say nothing without the key."""
        return blake2b(f"{kind}\0{identity}".encode(), key=self.secret, digest_size=_HASH_BYTES).hexdigest()

    @property
    def id(self) -> str:
        """Which key it is, for a store to tell another one: it says nothing of the key."""
        return blake2b(b"key", key=self.secret, digest_size=8).hexdigest()


def key_file(store_folder: Path | None) -> Path:
    """Where the key is, or is to be; StoreError for a server's store when nobody said."""
    if named := os.environ.get(KEY_VARIABLE):
        return Path(named)
    if store_folder is not None:
        return store_folder / KEY_FILE
    raise StoreError(
        f"{KEY_VARIABLE} names no file with the key of what was erased; all who write to this store need the same one"
    )


def key(path: Path, *, create: bool = False) -> Key:
    """The key in a file, made there on first use; StoreError when it cannot be had or others can read it."""
    try:
        if create and not path.exists():
            make(path)
        mode = path.stat().st_mode
        secret = bytes.fromhex(path.read_text(encoding="ascii").strip())
    except FileNotFoundError:
        raise StoreError(f"the key of what was erased is not at {path}") from None
    except (OSError, ValueError) as error:
        raise StoreError(f"the key of what was erased cannot be read at {path}: {error}") from error
    if mode & 0o077:
        raise StoreError(f"the key of what was erased, {path}, can be read by others: chmod 600 it")
    if len(secret) != KEY_BYTES:
        raise StoreError(f"the key of what was erased, {path}, has not {2 * KEY_BYTES} hex digits")
    return Key(secret)


@dataclass(frozen=True, slots=True)
class Erased:
    """All that was erased from a store."""

    key: Key
    hashes: Mapping[str, frozenset[str]]
    """By kind."""

    def has(self, kind: HashKind, identity: str) -> bool:
        return self.key.hash(kind, identity) in self.hashes.get(kind.value, ())

    def kept(self, table: str, stream: bytes, rows: int) -> tuple[bytes, int]:
        """An Arrow IPC stream without the rows of what was erased, and how many are left.

        The same bytes where none is; StoreError (INCORRECT_DATA) when it is no such stream, or one that cannot be read,
        or needs more memory than its bytes are worth: a stranger may have written it.
        """
        identities = [each for each in _IDENTITIES.get(table, ()) if each[0].value in self.hashes]
        if not identities:
            return stream, rows
        import pyarrow as pa  # starts threads, which a process that is yet to confine itself must not have

        try:
            found = _read(stream)
            there = [(kind, columns) for kind, columns in identities if set(columns) <= set(found.column_names)]
            _check_columns(found, {name for _, columns in there for name in columns})
            keep = [True] * (found.num_rows if there else 0)
            for kind, columns in there:
                self._leave_out(kind, _in_turn(found.select(columns)), keep)
            if all(keep):
                return stream, rows
            left = found.filter(pa.array(keep))
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, left.schema) as writer:
                writer.write_table(left)
        except Exception as error:  # of some types pyarrow has no arrays: a KeyError
            raise StoreError(f"table {table}: {type(error).__name__}: {error}", _INCORRECT_DATA) from error
        return sink.getvalue().to_pybytes(), left.num_rows

    def _leave_out(self, kind: HashKind, rows: Iterable[tuple[Any, ...]], keep: list[bool]) -> None:
        known: dict[tuple[Any, ...], bool] = {}
        for row, values in enumerate(rows):
            if values not in known:
                is_named = all(value is not None and value != "" for value in values)
                known[values] = is_named and self.has(kind, "/".join(map(str, values)))
            if known[values]:
                keep[row] = False


def _read(stream: bytes) -> Any:
    """An Arrow stream as a table whose offsets, indices and texts are what they should be: pyarrow reads wherever
    those of a stranger point."""
    import pyarrow as pa

    from quiclens_schema.arrow_values import declared_sizes

    total = 0
    for _, size in declared_sizes(pa.BufferReader(stream)):
        total += size
        if total > _BYTES_AT_MOST:
            raise ValueError(f"more than {_BYTES_AT_MOST} bytes when decompressed")
    with pa.ipc.open_stream(stream) as reader:
        found = reader.read_all()
    if found.num_rows > _ROWS_AT_MOST:
        raise ValueError(f"{found.num_rows} rows, the limit is {_ROWS_AT_MOST}")
    found.validate(full=True)
    return found


def _check_columns(table: Any, names: Collection[str]) -> None:
    """ValueError for columns that are neither text nor whole numbers, which may have rows without bytes, or whose
    dictionaries are far longer as plain columns: each row is looked at as a plain one."""
    import pyarrow as pa

    from quiclens_schema.arrow_values import is_text, plain_text_bytes

    total = 0
    for name in sorted(names):
        for column in table.column(name).chunks:
            is_dictionary = pa.types.is_dictionary(column.type)
            values = column.dictionary if is_dictionary else column
            if pa.types.is_integer(values.type):
                continue
            if not is_text(values.type):
                raise ValueError(f"column {name} is {column.type}")
            if is_dictionary:
                total += plain_text_bytes(column)
    if total > _BYTES_AT_MOST:
        raise ValueError(f"more than {_BYTES_AT_MOST} bytes as plain columns")


def _in_turn(table: Any) -> Iterator[tuple[Any, ...]]:
    """The rows of an Arrow table as values, some at a time: a value takes more memory than its place in a column."""
    for first in range(0, table.num_rows, _ROWS_AT_ONCE):
        some = table.slice(first, _ROWS_AT_ONCE)
        yield from zip(*(column.to_pylist() for column in some.columns), strict=True)


def of_rows(rows: Iterable[tuple[str, str, str]], of: Key) -> Erased:
    """From (kind, hash, key_id) as the store has them; StoreError when they are of another key."""
    found = list(rows)
    if any(not hmac.compare_digest(key_id, of.id) for _, _, key_id in found):
        raise StoreError("what was erased from this store was hashed with another key than the one given here")
    hashes: dict[str, set[str]] = {}
    for kind, hash_, _ in found:
        hashes.setdefault(kind, set()).add(hash_)
    return Erased(of, {kind: frozenset(each) for kind, each in hashes.items()})
