"""The only door to ClickHouse: the embedded engine (chdb) or a server, with the same SQL.

A store may be used from many threads: every call borrows its own handle, since one handle serialises.
The embedded store belongs to one process at a time; `owner.json` in its folder says to which. Where that process
serves the store, `open` uses it over a unix socket (`served.py`): the same answers, only not from this process.
"""

import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any, Self
from urllib.parse import unquote, urlsplit, urlunsplit

import clickhouse_connect
from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import ClickHouseError
from urllib3 import PoolManager

from quiclens_schema import catalogue, engine, erased, owner, unix_http
from quiclens_schema.arrow_schema import field_names
from quiclens_schema.errors import StoreBusy as StoreBusy
from quiclens_schema.errors import StoreError as StoreError
from quiclens_schema.secret import SecretError, secret
from quiclens_schema.version import CLICKHOUSE_LEAST

DEFAULT_URL = "chdb:quiclens-data"
PASSWORD_VARIABLE = "QUICLENS_STORE_PASSWORD"

NOT_LET_IN = (192, 193, 194, 516)
"""The engine's codes for: unknown user, wrong password, no password, not authenticated."""

_UNKNOWN_TABLE = 60
_QUERY_SETTINGS = {
    # All of a trace lies in one partition, so FINAL never has to merge across partitions.
    "do_not_merge_across_partitions_select_final": "1",
}
_INSERT_SETTINGS = {
    "async_insert": "0",  # on by default since 26.x; an insert is done when the call returns
    "max_partitions_per_insert_block": "0",  # one batch may hold traces of many days
    "optimize_on_insert": "0",  # rows written must be countable: replaced when read and merged, not here
}
_JSON_SETTINGS = {
    "date_time_output_format": "iso",  # UTC, whatever zone a column is in
    "output_format_json_quote_64bit_integers": "0",
    "output_format_json_quote_denormals": "0",
}
_ARROW_SETTINGS = {
    "output_format_arrow_compression_method": "none",
    "output_format_arrow_low_cardinality_as_dictionary": "0",
}

Parameters = Mapping[str, Any]

_IDLE_AT_MOST = 16  # handles that are kept for the next calls; what gives back more closes its own

_open_here: Counter[str] = Counter()  # folders that this process has open, and how often: the engine allows that


@dataclass(frozen=True, slots=True)
class Result:
    """A query's answer: column names, their ClickHouse types, and rows as tuples. `read_rows` is what the engine
    looked at for it, 0 where that was not told."""

    columns: tuple[str, ...]
    types: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    read_rows: int = 0

    def dicts(self) -> list[dict[str, Any]]:
        """Rows by column name."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]

    def one(self) -> tuple[Any, ...]:
        """The only row; StoreError when there is none or more than one."""
        if len(self.rows) != 1:
            raise StoreError(f"expected one row, got {len(self.rows)}")
        return self.rows[0]


@dataclass(frozen=True, slots=True)
class StorePlace:
    """Where a store is: a folder of the embedded engine, or a server's address, or the unix socket of the process that
    holds the folder."""

    folder: str = ""
    dsn: str = ""
    socket: str = ""

    @property
    def is_embedded(self) -> bool:
        """Whether this process runs the engine, or would."""
        return bool(self.folder) and not self.socket


def place(url: str) -> StorePlace:
    """Read a store URL; StoreError when its scheme is none of chdb, http, https."""
    scheme, colon, rest = url.partition(":")
    if scheme == "chdb" and colon:
        folder = rest.removeprefix("//")
        if not folder:
            raise StoreError(f"store URL {url!r} names no folder, write chdb:DIR")
        return StorePlace(folder=os.path.realpath(folder))
    if scheme in ("http", "https") and rest.startswith("//") and urlsplit(url).hostname:
        return StorePlace(dsn=url)
    raise StoreError(f"store URL {without_password(url)!r} is none of chdb:DIR, http://host:8123/database, https://…")


def without_password(url: str) -> str:
    """A store URL as it may be shown: a password in it belongs to nobody's screen or log."""
    parts = urlsplit(url)
    if parts.password is None:
        return url
    return urlunsplit(parts._replace(netloc=f"{parts.username or ''}:***@{parts.netloc.rpartition('@')[2]}"))


def open(url: str = DEFAULT_URL, *, alone: bool = False) -> "Store":
    """Open the store; StoreBusy when another process holds it and does not serve it, StoreError when it cannot be had.

    With `alone`, also a process that serves it is in the way.
    """
    where = place(url)
    if not where.is_embedded:
        return _server(where)
    folder = Path(where.folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"cannot make the store's folder {folder}: {error.strerror}") from error
    if _is_held_elsewhere(folder):
        return _served(folder, alone)
    try:
        store = Store(where)
    except StoreError as error:
        if _is_held_elsewhere(folder):  # another process was quicker
            return _served(folder, alone, error)
        raise
    _open_here[where.folder] += 1
    owner.write(folder, owner.Owner.now())
    return store


class Store:
    """An open store. Use `open` to make one, and close it: the embedded engine ends with its last handle."""

    def __init__(self, where: StorePlace) -> None:
        self._place = where
        self._bounds: Mapping[str, Any] = {}
        self._life = _Life()
        self._erased_rows: tuple[int, erased.Erased | None] = (0, None)
        # The engine ends with its last connection, and has its walls from the first.
        self._root = engine.connect(Path(where.folder)) if where.is_embedded else None
        try:
            self._life.give_back(self._connect())
        except BaseException:
            self._close_root()
            raise

    @property
    def is_embedded(self) -> bool:
        return self._place.is_embedded

    @property
    def folder(self) -> Path | None:
        """The embedded store's folder, None for a server."""
        return Path(self._place.folder) if self.is_embedded else None

    @property
    def local_folder(self) -> Path | None:
        """The folder of an embedded store, whichever process of this machine holds it; None for a server."""
        return Path(self._place.folder) if self._place.folder else None

    def bounded(self, settings: Mapping[str, Any]) -> "Store":
        """The same store, every query of which has these settings too, such as limits; it is closed with this one."""
        twin = copy(self)
        twin._bounds = {**self._bounds, **settings}
        return twin

    def announce(self, url: str, instance: str, socket: Path, landlock: int = 0) -> None:
        """Tell other processes that this one serves the embedded store at `url`, and its own user on a unix socket,
        until the store is closed; `landlock` is the version that confines this process, 0 where none does."""
        if self.folder is None:
            raise StoreError("only an embedded store can be served")
        owner.write(self.folder, owner.Owner.now(url, instance, str(socket), landlock))

    def query(
        self, sql: str, parameters: Parameters | None = None, settings: Mapping[str, Any] | None = None
    ) -> Result:
        """Run one SELECT with parameters bound by the server as `{name:Type}`, nothing is formatted into it."""
        with _Borrowed(self) as client:
            answer = client.query(
                sql, parameters=_server_side(sql, parameters), settings=_merged(self._bounds, settings)
            )
            return Result(
                columns=tuple(answer.column_names),
                types=tuple(column.name for column in answer.column_types),
                rows=[tuple(row) for row in answer.result_rows],
                read_rows=int(answer.summary.get("read_rows", 0)),
            )

    def command(
        self, sql: str, parameters: Parameters | None = None, settings: Mapping[str, Any] | None = None
    ) -> None:
        """Run one statement that answers nothing: DDL, INSERT … SELECT, OPTIMIZE."""
        with _Borrowed(self) as client:
            client.command(sql, parameters=_server_side(sql, parameters), settings=_merged({}, settings))

    def insert_arrow(self, table: str, stream: bytes, rows: int, newer: Collection[str] = ()) -> int:
        """Insert one complete Arrow IPC stream in one append; how many of its rows were dropped, since what they are of
        was erased.

        A column that no row needs may be left out, but none of the table's key. StoreError for a column that the
        catalogue lacks, but for those of a `newer` catalogue: whether the table has these, the store knows
        (NO_SUCH_COLUMN). And when other than `rows` rows were written: the engine is silent about unknown columns,
        missing columns and cut streams.
        """
        columns = self._columns_of(table, stream, newer)
        sent = rows
        if (gone := self._erased()) is not None:
            stream, rows = gone.kept(table, stream, rows)
            if not rows:
                return sent
        self._append(table, columns, stream, rows)
        return sent - rows

    def insert_drawn(self, table: str, columns: Sequence[str], stream: bytes, rows: int) -> None:
        """Insert one complete Arrow IPC stream into a table that the catalogue does not have: rows of nobody, which
        cannot have been erased."""
        self._append(table, columns, stream, rows)

    def _append(self, table: str, columns: Sequence[str], stream: bytes, rows: int) -> None:
        with _Borrowed(self) as client:
            summary = client.raw_insert(
                table, column_names=columns, insert_block=stream, settings=_INSERT_SETTINGS, fmt="ArrowStream"
            )
            written = summary.written_rows
        if written != rows:
            raise StoreError(f"table {table}: {rows} rows sent, {written} written")

    def _erased(self) -> erased.Erased | None:
        """What was erased from this store, None where nothing was; read again when there is more of it."""
        try:
            (count,) = self.query("SELECT count() FROM erased").one()
        except StoreError as error:
            if error.code == _UNKNOWN_TABLE:  # an older schema
                return None
            raise
        if not count:
            return None
        if self._erased_rows[0] != count or self._erased_rows[1] is None:
            found = self.query("SELECT kind, hash, key_id FROM erased").rows
            key = erased.key(erased.key_file(Path(self._place.folder) if self._place.folder else None))
            self._erased_rows = (int(count), erased.of_rows(found, key))
        return self._erased_rows[1]

    def stream_arrow(
        self, sql: str, parameters: Parameters | None = None, settings: Mapping[str, Any] | None = None
    ) -> Iterator[bytes]:
        """Yield the answer as Arrow IPC: every item is one complete stream, schema to end mark.

        The engine's own chunks are separate streams that readers would cut after the first, so one query is one
        stream, held in memory: page a large answer by `seq`, one call per page.
        """
        with _Borrowed(self) as client:
            answer = client.raw_query(
                sql,
                parameters=_server_side(sql, parameters),
                settings=_merged({**_ARROW_SETTINGS, **self._bounds}, settings),
                fmt="ArrowStream",
            )
        if answer:
            yield answer

    def json_lines(self, sql: str, parameters: Parameters | None = None) -> list[bytes]:
        """The answer as JSON objects by column name, held in memory; times are RFC 3339 in UTC."""
        with _Borrowed(self) as client:
            answer = client.raw_query(
                sql,
                parameters=_server_side(sql, parameters),
                settings=_merged(_JSON_SETTINGS, self._bounds),
                fmt="JSONEachRow",
            )
        return answer.splitlines()

    def close(self) -> None:
        """Close every idle handle and give up the folder. Calls in flight in other threads close their own."""
        if not self._life.end():
            return
        self._close_root()
        if self.folder is not None:
            _open_here[self._place.folder] -= 1
            if not _open_here[self._place.folder]:
                owner.remove(self.folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _close_root(self) -> None:
        if self._root is not None:
            self._root.close()

    def _connect(self) -> Client:
        try:
            if self.is_embedded:
                return clickhouse_connect.get_client(
                    interface="chdb", path=self._place.folder, settings=dict(_QUERY_SETTINGS), tz_mode="aware"
                )
            return _of_a_known_version(_server_client(self._place))
        except ClickHouseError as error:
            raise _store_error(error) from error
        except (RuntimeError, OSError) as error:
            raise StoreError(_first_line(str(error))) from error

    def _columns_of(self, name: str, stream: bytes, newer: Collection[str] = ()) -> Sequence[str]:
        table = catalogue.load().table(name)
        try:
            names = field_names(stream)
        except ValueError as error:
            raise StoreError(f"table {name}: {error}") from error
        missing = [column for column in table.key_columns if column not in names]
        unknown = [column for column in names if column not in table.sent_columns and column not in newer]
        if missing or unknown:
            raise StoreError(
                f"table {name}: the batch is of another catalogue"
                + (f", lacks {', '.join(missing)}" if missing else "")
                + (f", has unknown {', '.join(unknown)}" if unknown else "")
            )
        return names


class _Life:
    """What a store and its bounded twins share: whether it is open, and the handles that nobody uses."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._idle: list[Client] = []
        self._is_open = True

    def take(self, connect: Callable[[], Client], is_embedded: bool) -> Client:
        """A handle, of those that are idle or a new one; StoreError when the store is closed."""
        with self._lock:
            if not self._is_open:
                raise StoreError("the store is closed")
            if self._idle:
                return self._idle.pop()
            if is_embedded:  # a handle that is made after the end would start an engine without its walls
                return connect()
        return connect()

    def give_back(self, client: Client) -> None:
        """Keep a handle for the next call; it is closed where the store is, and where enough of them are kept."""
        with self._lock:
            if self._is_open and len(self._idle) < _IDLE_AT_MOST:
                self._idle.append(client)
                return
        client.close()

    def end(self) -> bool:
        """Close what is idle, and let nobody have a handle again; whether it was open until now."""
        with self._lock:
            was_open, self._is_open = self._is_open, False
            idle, self._idle = self._idle, []
        for client in idle:
            client.close()
        return was_open


class _Borrowed:
    """A handle for one call: an idle one or a new one, given back afterwards, its errors turned into ours."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __enter__(self) -> Client:
        self._client = self._store._life.take(self._store._connect, self._store.is_embedded)
        return self._client

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # The password may have changed: the next handle reads it again. And what an embedded statement had answered
        # before it failed, or was stopped, stands before the next answer of its handle (chdb 26.9).
        is_refused = isinstance(error, ClickHouseError) and getattr(error, "code", None) in NOT_LET_IN
        if is_refused or (error is not None and self._store.is_embedded):
            self._client.close()
        else:
            self._store._life.give_back(self._client)
        if isinstance(error, ClickHouseError):
            raise _store_error(error) from error


def requests_to(where: StorePlace) -> tuple[PoolManager, str]:
    """How a process that serves a store is asked: by which connections, under which address."""
    if where.socket:
        return unix_http.pool_manager(Path(where.socket)), unix_http.URL
    parts = urlsplit(where.dsn)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return PoolManager(maxsize=8), f"{parts.scheme}://{host}:{_port(where)}"


def key_header(where: StorePlace) -> dict[str, str]:
    """What lets a request in: the password as it is now. StoreError where it cannot be had."""
    password = "" if where.socket else _credentials(where)[1]
    return {"X-ClickHouse-Key": password} if password else {}


def _credentials(where: StorePlace) -> tuple[str | None, str]:
    parts = urlsplit(where.dsn)
    try:
        password = secret(PASSWORD_VARIABLE) or unquote(parts.password or "")
    except SecretError as error:
        raise StoreError(str(error)) from error
    return (unquote(parts.username) if parts.username else None), password


def _port(where: StorePlace) -> int:
    parts = urlsplit(where.dsn)
    return parts.port or (8443 if parts.scheme == "https" else 8123)


def _server_client(where: StorePlace) -> Client:
    if where.socket:
        return clickhouse_connect.get_client(
            interface="http",
            host="localhost",
            settings=dict(_QUERY_SETTINGS),
            autogenerate_session_id=False,
            tz_mode="aware",
            pool_mgr=unix_http.pool_manager(Path(where.socket)),
        )
    parts = urlsplit(where.dsn)
    username, password = _credentials(where)
    return clickhouse_connect.get_client(
        interface=parts.scheme,
        host=parts.hostname or "localhost",
        port=_port(where),
        username=username,
        password=password,
        database=parts.path.strip("/") or "default",
        settings=dict(_QUERY_SETTINGS),
        autogenerate_session_id=False,
        tz_mode="aware",
    )


def _of_a_known_version(client: Client) -> Client:
    """The handle; StoreError where its server is older than the statements know."""
    told = re.match(r"(\d+)\.(\d+)", client.server_version or "")
    if told is None or (int(told[1]), int(told[2])) < CLICKHOUSE_LEAST:
        least = ".".join(map(str, CLICKHOUSE_LEAST))
        client.close()
        raise StoreError(f"the server is ClickHouse {client.server_version}; quiclens needs {least} or newer")
    return client


def _server(where: StorePlace) -> "Store":
    """A ClickHouse server, or a store that another quiclens serves."""
    from quiclens_schema.served import ServedStore

    connections, base = requests_to(where)
    return ServedStore(where) if owner.instance_at(connections, base) else Store(where)


def _server_side(sql: str, parameters: Parameters | None) -> dict[str, Any] | None:
    """Refuse parameters that the statement does not take, so nothing is ever formatted into it by the client."""
    if not parameters:
        return None
    unused = [name for name in parameters if "{" + name + ":" not in sql.replace(" ", "")]
    if unused:
        raise StoreError(f"the statement has no parameter {{{unused[0]}:Type}}")
    return dict(parameters)


def _merged(ours: Mapping[str, Any], given: Mapping[str, Any] | None) -> dict[str, Any]:
    return {**ours, **(given or {})}


def _store_error(error: ClickHouseError) -> StoreError:
    code = getattr(error, "code", None)
    return StoreError(str(error).strip(), code=code if isinstance(code, int) else None)


def _first_line(text: str) -> str:
    return text.strip().splitlines()[0] if text.strip() else "the embedded engine failed without a word"


def _is_held_elsewhere(folder: Path) -> bool:
    if _open_here[str(folder)]:
        return False
    try:
        return owner.is_locked(folder)
    except OSError as error:
        raise StoreError(f"cannot read the store's folder {folder}: {error.strerror}") from error


def _may_be_ours(socket: str) -> bool:
    """Whether this user may connect to a unix socket; also where it is gone, which connecting tells better."""
    try:
        os.stat(socket)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return os.access(socket, os.W_OK)


def _served(folder: Path, alone: bool, cause: Exception | None = None) -> "Store":
    """The store as another process serves it; StoreBusy, which names that process, when it does not."""
    holder = owner.read(folder)
    if holder is None:
        raise StoreBusy(f"store {folder} is held by another process; stop it, or use another --store") from cause
    from quiclens_schema.served import ServedStore

    name = f"process {holder.pid}" + (f", which serves it at {holder.url}" if holder.url else "")
    if alone or not holder.url:
        raise StoreBusy(f"store {folder} is held by {name}; stop it, or use another --store", holder.pid) from cause
    if not _may_be_ours(holder.socket):
        raise StoreBusy(f"store {folder} is held by {name}; its socket is another user's", holder.pid) from cause
    if not holder.answers():
        raise StoreBusy(f"store {folder} is held by {name} but does not answer there", holder.pid) from cause
    return ServedStore(StorePlace(str(folder), socket=holder.socket))
