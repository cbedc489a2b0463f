"""The embedded engine (chdb) as a store opens it: with grants of its own, and without tables that are files.

The engine's own default is one user who may do everything, and a database in which a table's name is a path. Here its
user may use the store's tables and nothing else: no file, host, program or other engine, whatever a statement says.
The engine reads its configuration once, in the first connection of a process, and says nothing when it reads none;
so `connect` compares what is granted with what was written. chdb-core 26.9; `SECURITY.md` says what this wall holds.
"""

import atexit
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from quiclens_schema.errors import StoreError

GRANTS = (
    # Questions, rows, what `link` builds, migrations, retention.
    "SHOW TABLES, SHOW COLUMNS, SELECT, INSERT, ALTER UPDATE, ALTER DELETE, ALTER COLUMN, ALTER INDEX, CREATE TABLE,"
    " CREATE VIEW, DROP TABLE, DROP VIEW, TRUNCATE, OPTIMIZE ON default.*",
    # So that an unknown database is told as one.
    "SHOW DATABASES ON *.*",
    *(
        f"SELECT ON system.{name}"
        for name in ("columns", "functions", "one", "parts", "processes", "settings", "tables")
    ),
    # The engine does not ask for these three; they say what the store's tables are.
    *(f"TABLE ENGINE ON {name}" for name in ("Memory", "MergeTree", "ReplacingMergeTree")),
)
"""What the engine's user may do. Not ALTER as a whole: ALTER DATABASE is part of it."""

_CONFIG = """<clickhouse>
  <user_directories><users_xml><path>users.xml</path></users_xml></user_directories>
  <default_database></default_database>
  <database>default</database>
  <allow_feature_tier>3</allow_feature_tier>
</clickhouse>
"""
# Without a default database the engine makes no overlay over a folder of files. Tier 3: no setting that is
# experimental, beta or a preview can be changed.
_USERS = """<clickhouse>
  <profiles><default>
    <allow_introspection_functions>0</allow_introspection_functions>
    <implicit_select>0</implicit_select>
    <constraints>
      <allow_introspection_functions><const/></allow_introspection_functions>
      <implicit_select><const/></implicit_select>
    </constraints>
  </default></profiles>
  <quotas><default></default></quotas>
  <users><default>
    <password></password>
    <networks><ip>::/0</ip></networks>
    <profile>default</profile>
    <quota>default</quota>
    <grants>{grants}</grants>
  </default></users>
</clickhouse>
"""
_DATABASE = "ATTACH DATABASE _ UUID '{uuid}'\nENGINE = Atomic\n"
_DATABASE_UUID = re.compile(r"ATTACH DATABASE _ UUID '([0-9a-f-]{36})'\s+ENGINE = Atomic\s*")


def connect(folder: Path) -> Any:
    """A connection to the engine over a folder, which holds it open; further ones of this process see the same walls.

    StoreError when the folder's name cannot be one, or when the engine grants other than `GRANTS`.
    """
    if "?" in str(folder):
        raise StoreError(f"a store's folder has no question mark in its name: {folder}")
    _name_database(folder)
    configuration = _configuration()
    try:
        with _in(configuration.parent):
            import chdb
    except ModuleNotFoundError as error:
        raise StoreError(
            "the embedded engine is not installed: pip install 'quiclens-api[embedded]', or name a "
            "ClickHouse server, --store http(s)://…"
        ) from error
    try:
        made = chdb.connect(f"{folder}?config-file={configuration / 'config.xml'}")
    except RuntimeError as error:
        raise StoreError(_first_line(str(error))) from error
    try:
        _compare(made)
    except BaseException:
        made.close()
        raise
    return made


def another_connection(folder: Path) -> Any:
    """One more connection of this process to a store that `connect` holds open: the same walls, settings of its own."""
    import chdb

    return chdb.connect(str(folder))


@cache
def _configuration() -> Path:
    """A folder of this process alone with the engine's configuration, in one that has nothing else; removed at the
    end."""
    around = Path(tempfile.mkdtemp(prefix="quiclens-engine-"))
    atexit.register(shutil.rmtree, around, ignore_errors=True)
    folder = around / "configuration"
    folder.mkdir()
    (folder / "config.xml").write_text(_CONFIG, encoding="utf-8")
    grants = "".join(f"<query>GRANT {grant}</query>" for grant in GRANTS)
    (folder / "users.xml").write_text(_USERS.format(grants=grants), encoding="utf-8")
    return folder


@contextmanager
def _in(folder: Path) -> Iterator[None]:
    """Work in a folder: importing chdb reads a `config.xml` of the working one, whoever put it there."""
    before = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.chdir(folder)
        yield
        os.fchdir(before)
    finally:
        os.close(before)


def _name_database(folder: Path) -> None:
    """Say in the store which of its databases `default` is: without an overlay the engine does not know it by itself,
    and would make another, empty one."""
    metadata = folder / "metadata"
    said, link = metadata / "default.sql", metadata / "default"
    if said.exists():
        if not _DATABASE_UUID.fullmatch(said.read_text(encoding="utf-8")):
            raise StoreError(f"{said} is no definition of a database that quiclens made")
        return
    metadata.mkdir(parents=True, exist_ok=True)
    if link.is_symlink():
        try:
            name = UUID(os.readlink(link).rstrip("/").rpartition("/")[2])
        except ValueError as error:
            raise StoreError(f"{link} does not lead to a database of the store") from error
    elif any((folder / "store").glob("*/*")):
        raise StoreError(f"{folder} has tables, but {link}, which says of which database, is missing")
    else:
        name = uuid4()
    draft = metadata / f"default.sql.{os.getpid()}"
    with draft.open("w", encoding="utf-8") as file:
        file.write(_DATABASE.format(uuid=name))
        file.flush()
        os.fsync(file.fileno())
    draft.replace(said)
    place = os.open(metadata, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(place)
    finally:
        os.close(place)


def _compare(connection: Any) -> None:
    """StoreError unless the engine's user may do what `GRANTS` says, no less and no more, in a plain database."""
    granted = {line.strip('"\n') for line in str(connection.query("SHOW GRANTS", "TSVRaw")).splitlines()}
    wanted = {f"GRANT {grant} TO default" for grant in GRANTS}
    kind = str(connection.query("SELECT engine FROM system.databases WHERE name = 'default'", "TSVRaw")).strip()
    if _rights(granted) != _rights(wanted) or kind != "Atomic":
        raise StoreError("the engine was opened before without its configuration; it grants other than the store's own")


def _rights(grants: set[str]) -> set[tuple[str, str]]:
    """Single rights, each with what it is on: the engine orders and groups them in its own way."""
    found = set()
    for grant in grants:
        rights, _, place = grant.removeprefix("GRANT ").removesuffix(" TO default").rpartition(" ON ")
        found |= {(right.strip(), place) for right in rights.split(",")}
    return found


def _first_line(text: str) -> str:
    return text.strip().splitlines()[0] if text.strip() else "the embedded engine failed without a word"
