"""Numbered SQL migrations, applied in order, remembered in `schema_migrations`; they only go forward.

One process at a time migrates a store, under a lease; others that start meanwhile wait for it, and then have nothing
left to do. One that was killed in between is followed by the next that starts: each statement can be run twice.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from quiclens_schema import store as stores
from quiclens_schema.lease import PROCESS, TABLE, Leases
from quiclens_schema.served import ServedStore, StoreOperation
from quiclens_schema.store import Store, StoreError

_ADDS = re.compile(
    r"CREATE TABLE IF NOT EXISTS\b|CREATE OR REPLACE VIEW\b|CREATE VIEW IF NOT EXISTS\b"
    r"|ALTER TABLE \w+\s+ADD (?:COLUMN|INDEX) IF NOT EXISTS\b(?!.*,\s*(?:DROP|MODIFY|RENAME|CLEAR|DELETE|UPDATE)\b)",
    re.DOTALL,
)
_COMMENTS = re.compile(r"(?m)^--.*\n?")
_FILE_NAME = re.compile(r"(\d{4})_[a-z0-9_]+\.sql")
_REMEMBER = """
CREATE TABLE IF NOT EXISTS schema_migrations
(
    number UInt32,
    name String,
    checksum String,
    applied_at DateTime64(6, 'UTC') DEFAULT now64(6),
    additive Bool DEFAULT false
)
ENGINE = ReplacingMergeTree
ORDER BY number
"""
_REMEMBER_ADDITIVE = "ALTER TABLE schema_migrations ADD COLUMN IF NOT EXISTS additive Bool DEFAULT false"
# One row is one partition that retention dropped, written before it goes: what is gone on purpose is not missing.
_REMEMBER_DROPPED = """
CREATE TABLE IF NOT EXISTS dropped_days
(
    table_name LowCardinality(String),
    day Date,
    rows UInt64,
    bytes UInt64,
    why LowCardinality(String),
    dropped_at DateTime64(6, 'UTC') DEFAULT now64(6)
)
ENGINE = MergeTree
ORDER BY (table_name, day)
"""
# One row is one thing that was erased, as a keyed hash: rows of it that come again are dropped (`erased.py`).
_REMEMBER_ERASED = """
CREATE TABLE IF NOT EXISTS erased
(
    kind LowCardinality(String),
    hash String,
    key_id LowCardinality(String),
    erased_at DateTime64(6, 'UTC') DEFAULT now64(6)
)
ENGINE = MergeTree
ORDER BY (kind, hash)
"""


LEASES = Leases("schema_leases", "migrates", seconds=600)
_WAIT_SECONDS = 1200.0
"""How long a process waits for another that migrates."""


@dataclass(frozen=True, slots=True)
class Migration:
    """One file of clickhouse/migrations; `checksum` is the SHA-256 of its statements in hexadecimal.

    An additive one, whose first line says `-- additive`, only adds: tables, columns that may be left out, indices, and
    views with more columns. The version before it goes on with the store (expand, deploy, contract).
    """

    number: int
    name: str
    checksum: str
    statements: tuple[str, ...]
    is_additive: bool = False


@dataclass(frozen=True, slots=True)
class Migrated:
    """What migrating did: the names applied; the newest number that the process which did it knows, and the least that
    one which goes on with the store must know."""

    applied: tuple[str, ...]
    known: int
    least: int = 0


def migrations_folder() -> Path:
    """The folder of the migrations: beside the package in the source tree, inside it when installed."""
    package = Path(__file__).resolve().parent
    for folder in (package / "clickhouse" / "migrations", package.parent / "clickhouse" / "migrations"):
        if folder.is_dir():
            return folder
    raise StoreError(f"no migrations beside {package}")


def migrations(folder: Path | None = None) -> tuple[Migration, ...]:
    """All migrations in order; StoreError when a file's name or number is wrong."""
    found: list[Migration] = []
    for path in sorted((folder or migrations_folder()).glob("*.sql")):
        match = _FILE_NAME.fullmatch(path.name)
        if match is None:
            raise StoreError(f"{path.name} is no migration's name, write NNNN_words.sql")
        number = int(match[1])
        if number != len(found) + 1:
            raise StoreError(f"{path.name}: migrations are numbered without gaps from 0001")
        found.append(_migration(number, path.stem, path.read_text(encoding="utf-8")))
    return tuple(found)


def least(known: Sequence[Migration]) -> int:
    """The newest migration that does more than add: who knows it can go on with what came after it."""
    return max((migration.number for migration in known if not migration.is_additive), default=0)


def statements(sql: str) -> tuple[str, ...]:
    """Split a file at the semicolons that end a line; our SQL has no others."""
    parts = re.split(r";[ \t]*(?:\n|$)", sql)
    return tuple(part.strip() for part in parts if _has_code(part))


def _migration(number: int, name: str, text: str) -> Migration:
    parts = statements(text)
    is_additive = text.startswith("-- additive")
    if is_additive and (taken := [part for part in parts if not _ADDS.match(_COMMENTS.sub("", part).strip())]):
        raise StoreError(f"{name}.sql says that it is additive, and does more: {taken[0][:80]}")
    return Migration(number, name, hashlib.sha256(";\n".join(parts).encode()).hexdigest(), parts, is_additive)


def _has_code(part: str) -> bool:
    return any(line.strip() and not line.strip().startswith("--") for line in part.splitlines())


def migrate(store: Store, folder: Path | None = None, process: str = PROCESS) -> tuple[str, ...]:
    """Apply what the store lacks and return the names applied; nothing happens the second time.

    A store that another process serves is migrated by that process. StoreError when the store, or that process, knows
    other migrations than we do: it belongs to another quiclens.
    """
    known = migrations(folder)
    if isinstance(store, ServedStore):
        done_there = store.operate(StoreOperation.MIGRATE, Migrated)
        if not done_there.least <= len(known) <= done_there.known:
            message = f"the process that serves the store knows migration {done_there.known:04d}, this quiclens"
            raise StoreError(f"{message} {len(known):04d}: start it again with this version")
        return done_there.applied
    for statement in (_REMEMBER, _REMEMBER_DROPPED, _REMEMBER_ERASED, TABLE.format(name="schema_leases")):
        store.command(statement)
    if not _missing(store, known):
        return ()
    with LEASES.held(store, _WAIT_SECONDS, process) as lease:
        done: list[str] = []
        if not _remembers_additions(store):
            store.command(_REMEMBER_ADDITIVE)
        for migration in _missing(store, known):
            for statement in migration.statements:
                lease.check()
                store.command(statement)
            lease.check()
            store.command(
                "INSERT INTO schema_migrations (number, name, checksum, additive)"
                " VALUES ({number:UInt32}, {name:String}, {checksum:String}, {additive:Bool})",
                {
                    "number": migration.number,
                    "name": migration.name,
                    "checksum": migration.checksum,
                    "additive": migration.is_additive,
                },
            )
            done.append(migration.name)
        return tuple(done)


def _missing(store: Store, known: tuple[Migration, ...]) -> list[Migration]:
    """Those that the store lacks; StoreError when what it has is not what we know, and more than additions to it."""
    # A store from before there were checksums has no such column.
    found = store.query("SELECT DISTINCT number, name, COLUMNS('^checksum$') FROM schema_migrations").rows
    applied = {int(number): (name, *checksum) for number, name, *checksum in found}
    for migration in known:
        name, *checksum = applied.get(migration.number, (migration.name, migration.checksum))
        if name != migration.name or not checksum:
            raise StoreError(
                f"the store was made by a quiclens before 0.2 ({name}), whose tables were others: "
                "load its logs into a new store"
            )
        if checksum != [migration.checksum]:
            raise StoreError(
                f"the store was made by a quiclens whose {name}.sql was another (SHA-256 {checksum[0][:12]}…, this one "
                f"has {migration.checksum[:12]}…): use that version, or load its logs into a new store"
            )
    newer = applied.keys() - {migration.number for migration in known}
    if newer and _remembers_additions(store):
        newer -= {int(number) for (number,) in store.query("SELECT number FROM schema_migrations WHERE additive").rows}
    if newer:
        raise StoreError(
            f"the store was migrated to {max(newer):04d} by a newer quiclens; this one knows {len(known):04d}"
        )
    return [migration for migration in known if migration.number not in applied]


def _remembers_additions(store: Store) -> bool:
    """Whether the store says which migrations only added; one that was made before that was said does not."""
    columns = "system.columns WHERE database = currentDatabase() AND table = 'schema_migrations'"
    return bool(store.query(f"SELECT count() FROM {columns} AND name = 'additive'").one()[0])


def dump(store: Store) -> str:
    """Every table and view as the engine shows it, by name: the text of clickhouse/schema.sql."""
    found = store.query(
        """
        SELECT
            name,
            create_table_query
        FROM system.tables
        WHERE database = currentDatabase() AND NOT is_temporary AND NOT startsWith(name, '.')
        ORDER BY engine = 'View', name
        LIMIT 1000
        """
    )
    parts = [
        "-- Dumped by `python -m quiclens_schema.migrate dump`: what the migrations make. Not applied by anything.\n"
    ]
    for _name, create in found.rows:
        (text,) = store.query("SELECT formatQuery({create:String})", {"create": create}).one()
        parts.append(_without_database(text) + ";\n")
    return "\n".join(parts)


def _without_database(text: str) -> str:
    """The dump must not depend on the database it was made in."""
    return re.sub(r"\bdefault\.", "", text)


def main() -> None:
    """`dump` prints the schema that a fresh store gets."""
    import sys
    import tempfile

    if sys.argv[1:] != ["dump"]:
        sys.exit("usage: python -m quiclens_schema.migrate dump")
    with tempfile.TemporaryDirectory() as folder, stores.open(f"chdb:{folder}/store") as store:
        migrate(store)
        sys.stdout.write(dump(store))


if __name__ == "__main__":
    main()
