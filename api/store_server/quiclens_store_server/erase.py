"""Erase connections, and lines of access logs, from every table of a store, for good.

A connection goes with its traces, its rejects and the lines of its requests. Keyed hashes of all that stay
(`quiclens_schema/erased.py`), written first: what comes again, also while this runs, is dropped.
"""

import ipaddress
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, TypeVar
from uuid import uuid4

from pydantic import ConfigDict
from quiclens_ingest.link import link
from quiclens_ingest.scratch import Scratch
from quiclens_schema import catalogue, erased
from quiclens_schema.erased import HashKind
from quiclens_schema.served import ServedStore, StoreOperation
from quiclens_schema.store import Store, StoreError

from quiclens_questions import where as conditions
from quiclens_questions.failure import UsageMistake

AT_MOST = 100_000  # connections, and lines, of one erasure
_PASSES = 3  # over the tables, for rows that were on their way
_CHUNK = 500  # texts of one statement
_BAD_ARGUMENTS = 36  # ClickHouse's

T = TypeVar("T")
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_CONNECTIONS_CALLED = """
SELECT DISTINCT connection_id
FROM connection_aliases
WHERE alias IN {names:Array(String)}
LIMIT {limit:UInt64}
"""
_NETWORKS = """
SELECT DISTINCT client_network
FROM (SELECT client_network FROM connections UNION ALL SELECT client_network FROM request_lines)
WHERE client_network IS NOT NULL
"""
_CONNECTIONS_OF_CLIENTS = """
SELECT DISTINCT connection_id
FROM connections
WHERE client_network IN {networks:Array(String)} OR client_key IN {keys:Array(String)}
LIMIT {limit:UInt64}
"""
_LINES_OF_CLIENTS = """
SELECT DISTINCT log_id, offset
FROM request_lines
WHERE client_network IN {networks:Array(String)} OR client_key IN {keys:Array(String)}
    OR user_hash IN {keys:Array(String)}
LIMIT {limit:UInt64}
"""
_REQUESTS_WHERE = """
SELECT DISTINCT connection_id, log_id, offset
FROM requests
WHERE 1
{where}
LIMIT {{limit:UInt64}}
"""
_CONNECTIONS_WHERE = """
SELECT DISTINCT connection_id
FROM connections FINAL
WHERE 1
{where}
LIMIT {{limit:UInt64}}
"""
# From here on what was found stands in scratch tables, so that no id is in the text of a mutation, which the engine
# keeps.
_CONNECTIONS = """
SELECT uniqExact(connection_id)
FROM (SELECT connection_id FROM connections UNION ALL SELECT connection_id FROM events)
WHERE connection_id IN (SELECT id FROM {ids:Identifier})
"""
_ALIASES = """
SELECT DISTINCT alias
FROM connection_aliases
WHERE connection_id IN (SELECT id FROM {ids:Identifier}) AND role != 'client_key'
"""
_TRACES = """
SELECT DISTINCT trace_id
FROM (SELECT connection_id, trace_id FROM connections UNION ALL SELECT connection_id, trace_id FROM events)
WHERE connection_id IN (SELECT id FROM {ids:Identifier}) AND trace_id != ''
"""
_LINES_OF_CONNECTIONS = """
SELECT DISTINCT assumeNotNull(log_id), assumeNotNull(offset)
FROM
(
    SELECT log_id, offset, connection_id FROM request_lines
    UNION ALL
    SELECT log_id, offset, connection_id FROM requests
)
WHERE log_id IS NOT NULL AND offset IS NOT NULL
    AND (connection_id IN (SELECT id FROM {ids:Identifier}) OR connection_id IN (SELECT id FROM {names:Identifier}))
LIMIT {limit:UInt64}
"""
_CONNECTIONS_OF_LINES = """
SELECT DISTINCT connection_id
FROM requests
WHERE connection_id IS NOT NULL AND (log_id, offset) IN (SELECT log_id, offset FROM {lines:Identifier})
LIMIT {limit:UInt64}
"""
_OF_CONNECTION = "connection_id IN (SELECT id FROM {ids:Identifier})"
_OF_LINE = "(log_id, offset) IN (SELECT log_id, offset FROM {lines:Identifier})"
_OF_REJECT = (
    "trace_id IN (SELECT id FROM {traces:Identifier}) OR source IN (SELECT id FROM {traces:Identifier})"
    " OR trace_id = '' AND splitByChar('/', file)[-1] IN (SELECT id FROM {files:Identifier})"
)
_FILES = """
SELECT DISTINCT splitByChar('/', source_file)[-1]
FROM connections
WHERE connection_id IN (SELECT id FROM {ids:Identifier}) AND source_file != ''
"""
_REJECTS = f"SELECT source, offset FROM rejects WHERE {_OF_REJECT}"
_DAYS = f"SELECT DISTINCT day FROM request_versions WHERE {_OF_CONNECTION} OR {_OF_LINE}"
_REPLICATED = """
SELECT name
FROM system.tables
WHERE database = currentDatabase() AND (startsWith(engine, 'Replicated') OR startsWith(engine, 'Shared'))
LIMIT 1
"""
# What a mutation replaced stays on disk until the engine cleans up, which a process that ends at once never does. It
# does so when a partition goes, also one that there is not; where old parts have a lifetime (a server: eight minutes)
# after that.
_CLEAN = "ALTER TABLE {table} DROP PARTITION ID 'none'"
_SAY_ERASED = """
INSERT INTO erased (kind, hash, key_id)
SELECT {kind:String}, arrayJoin({hashes:Array(String)}), {key:String}
"""


@dataclass(frozen=True, slots=True)
class ErasureChoice:
    """What is to be erased: connections by any of their ids, clients by a network or a key, requests by conditions that
    all hold. `is_trial` erases nothing."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    connections: tuple[str, ...] = ()
    clients: tuple[str, ...] = ()
    where: tuple[str, ...] = ()
    is_trial: bool = False


@dataclass(frozen=True, slots=True)
class Erasure:
    """What was erased, or would be."""

    connections: int
    lines: int
    rows: Mapping[str, int]
    """By table."""


def erase(store: Store, chosen: ErasureChoice, now: datetime) -> Erasure:
    """Erase; a served store's own process does it. StoreError when it fails or is too much for once."""
    if not (chosen.connections or chosen.clients or chosen.where):
        raise StoreError("nothing is chosen to be erased", _BAD_ARGUMENTS)
    if isinstance(store, ServedStore):
        return store.operate(StoreOperation.ERASE, Erasure, asdict(chosen))
    if store.query(_REPLICATED).rows:
        raise StoreError(
            "tables that other servers replicate cannot be erased from: what is chosen is known here alone"
        )
    with Scratch(store) as scratch:
        return _Erasing(store, scratch, chosen).done(now)


class _Erasing:
    """One erasure, with its scratch tables."""

    def __init__(self, store: Store, scratch: Scratch, chosen: ErasureChoice) -> None:
        self._store = store
        self._scratch = scratch
        self._chosen = chosen
        for name in ("ids", "names", "traces", "files"):
            scratch.make(name, "id String")
        scratch.make("lines", "log_id String, offset UInt64")
        self._ids: set[str] = set()
        self._lines: set[tuple[str, int]] = set()
        self._names: set[str] = set()
        self._traces: set[str] = set()

    def done(self, now: datetime) -> Erasure:
        self._find(now)
        ((connections,),) = self._ask(_CONNECTIONS)
        known = Erasure(int(connections), len(self._lines), self._counts())
        if self._chosen.is_trial or not (self._ids or self._lines):
            return known
        days = {day for (day,) in self._ask(_DAYS)}
        token = uuid4().hex  # who is killed from here on leaves behind that all is to be linked
        self._store.command("INSERT INTO link_pending (token) VALUES ({token:String})", {"token": token})
        self._remember()
        for _ in range(_PASSES):
            self._delete()
            days |= {day for (day,) in self._ask(_DAYS)}
            left = self._counts()
            if not any(count for table, count in left.items() if table in self._sources()):
                break
        else:
            raise StoreError("rows of what is erased came again and again; stop what writes without the store's key")
        link(self._store, days)
        self._store.command("DELETE FROM link_pending WHERE token = {token:String}", {"token": token})
        for table in catalogue.load().tables.values():
            self._store.command(_CLEAN.format(table=table.stored))
        return known

    def _find(self, now: datetime) -> None:
        chosen = self._chosen
        names = sorted({name for each in chosen.connections for name in (each, each.lower())})
        if names:
            called = self._ask(_CONNECTIONS_CALLED, {"names": names})
            self._ids |= {each for (each,) in called} | set(names)
        if chosen.clients:
            bound = self._clients()
            self._ids |= {each for (each,) in self._ask(_CONNECTIONS_OF_CLIENTS, bound)}
            self._ids |= {each for (each,) in self._ask(_CONNECTIONS_CALLED, {"names": bound["keys"]})}
            self._lines |= {(log, int(at)) for log, at in self._ask(_LINES_OF_CLIENTS, bound)}
        if chosen.where:
            self._find_where(now)
        self._fill("lines", sorted(self._lines))
        self._ids |= {each for (each,) in self._ask(_CONNECTIONS_OF_LINES)}
        self._fill("ids", [(each,) for each in sorted(self._ids)])
        self._names = {each for (each,) in self._ask(_ALIASES)} | self._ids
        self._fill("names", [(each,) for each in sorted(self._names)])
        more = {(log, int(at)) for log, at in self._ask(_LINES_OF_CONNECTIONS)} - self._lines
        self._fill("lines", sorted(more))
        self._lines |= more
        self._traces = {each for (each,) in self._ask(_TRACES)}
        self._fill("traces", [(each,) for each in sorted(self._traces)])
        self._fill("files", self._ask(_FILES))
        if max(len(self._ids), len(self._lines)) > AT_MOST:
            raise StoreError(f"more than {AT_MOST:,} connections or lines at once; choose fewer", _BAD_ARGUMENTS)

    def _find_where(self, now: datetime) -> None:
        texts = self._chosen.where
        try:
            asked = conditions.read(texts, now)
        except UsageMistake as mistake:
            raise StoreError(f"{mistake.message}; {mistake.hint}", _BAD_ARGUMENTS) from mistake
        for id_, log, at in self._ask(_REQUESTS_WHERE.format(where=asked.sql()), asked.parameters()):
            if id_ is not None:
                self._ids.add(id_)
            if log is not None and at is not None:
                self._lines.add((log, int(at)))
        columns = catalogue.load().table("connections").columns
        if asked.columns <= {each.name for each in columns}:
            # Connections that never became a request too.
            of = conditions.read(texts, now, {each.name: each for each in columns})
            sql = _CONNECTIONS_WHERE.format(where=of.sql())
            self._ids |= {each for (each,) in self._ask(sql, of.parameters())}

    def _clients(self) -> dict[str, list[str]]:
        """Networks of the store that lie in those that were named; what is no network is a key."""
        wanted, keys = list[Network](), list[str]()
        for each in self._chosen.clients:
            try:
                wanted.append(ipaddress.ip_network(each.strip("[]"), strict=False))
            except ValueError:
                keys.append(each)
        held = [each for (each,) in self._ask(_NETWORKS)] if wanted else []
        return {"networks": [each for each in held if _is_in(each, wanted)], "keys": keys}

    def _counts(self) -> dict[str, int]:
        found = {}
        for table, of in self._conditions().items():
            ((count,),) = self._ask(f"SELECT count() FROM {table} WHERE {of}")
            found[table] = int(count)
        return found

    def _delete(self) -> None:
        for table, of in self._conditions().items():
            sql = f"ALTER TABLE {catalogue.load().table(table).stored} DELETE WHERE {of}"
            self._store.command(sql, self._bound(sql), {"mutations_sync": "2"})

    def _sources(self) -> list[str]:
        """Tables that collectors fill; the others are built of them, and lose old versions of rows by statement too."""
        return [each.name for each in catalogue.load().tables.values() if not each.is_linked]

    def _conditions(self) -> dict[str, str]:
        """Which rows of each table are of what is erased; every table of the catalogue has a condition or is built."""
        found = {}
        for table in catalogue.load().tables.values():
            names = {column.name for column in table.columns}
            if table.name == "rejects":
                found[table.name] = _OF_REJECT
            elif {"connection_id", "log_id", "offset"} <= names:
                found[table.name] = f"{_OF_CONNECTION} OR {_OF_LINE}"
            elif "connection_id" in names:
                found[table.name] = _OF_CONNECTION
            elif not table.is_linked:
                raise StoreError(f"nobody says how rows of table {table.name} are erased")
        return found

    def _remember(self) -> None:
        folder = self._store.folder
        key = erased.key(erased.key_file(folder), create=True)
        known = {(kind, hash_) for kind, hash_, _ in self._ask("SELECT kind, hash, key_id FROM erased")}
        if any(key_id != key.id for _, _, key_id in self._ask("SELECT kind, hash, key_id FROM erased")):
            raise StoreError("an earlier erasure of this store used another key; name that key's file")
        identities: dict[HashKind, Iterable[str]] = {
            HashKind.CONNECTION: self._names,
            HashKind.TRACE: self._traces,
            HashKind.LINE: (f"{log}/{at}" for log, at in self._lines),
            HashKind.REJECT: (f"{source}/{at}" for source, at in self._ask(_REJECTS)),
        }
        for kind, texts in identities.items():
            hashes = sorted({key.hash(kind, text) for text in texts} - {each for of, each in known if of == kind})
            for some in _chunks(hashes):
                self._store.command(_SAY_ERASED, {"kind": kind.value, "hashes": some, "key": key.id})

    def _fill(self, name: str, rows: Sequence[tuple[Any, ...]]) -> None:
        table = self._scratch.names()[name]
        for some in _chunks(rows):
            columns = list(zip(*some, strict=True))
            if len(columns) == 1:
                sql = "INSERT INTO {table:Identifier} SELECT arrayJoin({ids:Array(String)})"
                self._store.command(sql, {"table": table, "ids": list(columns[0])})
            else:
                pairs = "arrayJoin(arrayZip({logs:Array(String)}, {offsets:Array(UInt64)})) AS pair"
                sql = f"INSERT INTO {{table:Identifier}} SELECT pair.1, pair.2 FROM (SELECT {pairs})"
                bound = {"table": table, "logs": list(columns[0]), "offsets": list(columns[1])}
                self._store.command(sql, bound)

    def _ask(self, sql: str, bound: Mapping[str, Any] | None = None) -> list[tuple[Any, ...]]:
        return self._store.query(sql, {**self._bound(sql), **(bound or {})}).rows

    def _bound(self, sql: str) -> dict[str, Any]:
        """Those of the parameters that all statements share which this one takes."""
        shared: dict[str, Any] = {**self._scratch.names(), "limit": AT_MOST + 1}
        return {name: value for name, value in shared.items() if f"{{{name}:" in sql}


def _chunks(rows: Sequence[T]) -> Iterator[Sequence[T]]:
    return (rows[at : at + _CHUNK] for at in range(0, len(rows), _CHUNK))


def _is_in(held: str, wanted: Sequence[Network]) -> bool:
    """Whether a network of the store and one of those wanted have an address in common."""
    try:
        network = ipaddress.ip_network(held, strict=False)
    except ValueError:
        return False
    return any(network.version == each.version and network.overlaps(each) for each in wanted)
