"""What was erased from a store stays erased: rows of it are dropped when its files, topics or uploads come again.

Of an erased thing the store keeps a keyed hash alone (table `erased`). The key is a file that only its user can read:
in an embedded store's folder, else where QUICLENS_ERASE_KEY_FILE says. Without the key nothing is written to a store
that something was erased from.
"""

import hmac
import os
from collections.abc import Iterable, Mapping
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

        The same bytes where none is; StoreError when it is no such stream.
        """
        identities = [each for each in _IDENTITIES.get(table, ()) if each[0].value in self.hashes]
        if not identities:
            return stream, rows
        import pyarrow as pa  # starts threads, which a process that is yet to confine itself must not have

        try:
            with pa.ipc.open_stream(stream) as reader:
                found = reader.read_all()
            keep = [True] * found.num_rows
            for kind, columns in identities:
                if set(columns) <= set(found.column_names):
                    self._leave_out(kind, [found.column(name).to_pylist() for name in columns], keep)
            if all(keep):
                return stream, rows
            left = found.filter(pa.array(keep))
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, left.schema) as writer:
                writer.write_table(left)
        except (pa.ArrowException, ValueError) as error:
            raise StoreError(f"table {table}: {error}") from error
        return sink.getvalue().to_pybytes(), left.num_rows

    def _leave_out(self, kind: HashKind, columns: list[list[Any]], keep: list[bool]) -> None:
        known: dict[tuple[Any, ...], bool] = {}
        for row, values in enumerate(zip(*columns, strict=True)):
            if values not in known:
                is_named = all(value is not None and value != "" for value in values)
                known[values] = is_named and self.has(kind, "/".join(map(str, values)))
            if known[values]:
                keep[row] = False


def of_rows(rows: Iterable[tuple[str, str, str]], of: Key) -> Erased:
    """From (kind, hash, key_id) as the store has them; StoreError when they are of another key."""
    found = list(rows)
    if any(not hmac.compare_digest(key_id, of.id) for _, _, key_id in found):
        raise StoreError("what was erased from this store was hashed with another key than the one given here")
    hashes: dict[str, set[str]] = {}
    for kind, hash_, _ in found:
        hashes.setdefault(kind, set()).add(hash_)
    return Erased(of, {kind: frozenset(each) for kind, each in hashes.items()})
