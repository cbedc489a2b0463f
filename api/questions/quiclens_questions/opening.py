"""Opening the store a command speaks of, with an answer for every way in which that fails."""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from quiclens_schema import store as stores
from quiclens_schema.store import Store, StoreBusy, StoreError

from quiclens_questions.failure import CannotRun

_UNKNOWN_TABLE = 60
_UNKNOWN_COLUMN = 47
_UNKNOWN_DATABASE = 81
_ACCESS_DENIED = 497
_ENGINES_CODE = re.compile(r"Code: (\d+)\. ")
_LACKS = re.compile(r"necessary to have the (grant .+? [oO][nN] [^\s.]+(?:\.[^\s.]+)?)")
_UNREACHABLE = re.compile(r"Connection refused|Failed to resolve|timed out|unreachable|Connection reset|Max retries")
# What the embedded engine makes first; what it keeps in its folder, `status` while it runs and after.
_ENGINES_FIRST = {"tmp", "status"}
_ENGINES_FILES = ("status", "metadata", "store")


@contextmanager
def opened(url: str, *, create: bool = False, alone: bool = False) -> Iterator[Store]:
    """The store, closed afterwards. A question never makes a store: that is for `load` and `migrate`.

    `alone` is for who must hold the folder itself, as `serve` does.
    """
    logging.getLogger("clickhouse_connect").addHandler(logging.NullHandler())  # what it has to say, we say
    try:
        where = stores.place(url)
        if where.is_embedded:
            _look(url, Path(where.folder), create)
        with stores.open(url, alone=alone) if alone else stores.open(url) as store:
            yield store
    except StoreBusy as error:
        raise CannotRun("store_busy", str(error), "one process at a time may own an embedded store") from error
    except StoreError as error:
        raise _cannot_run(error, stores.without_password(url)) from error


def _look(url: str, folder: Path, create: bool) -> None:
    """Stop before the engine leaves files in a folder that is no store's."""
    found = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    names = {name for name in found if not name.startswith(".") and name != "lost+found"}
    if names <= _ENGINES_FIRST and not ("tmp" in names and any((folder / "tmp").iterdir())):
        names = set()  # the engine was killed as it began
    if folder.exists() and not folder.is_dir():
        raise CannotRun("not_a_store", f"{folder} is a file", "a store is a folder: --store chdb:DIR")
    if names and not names.intersection(_ENGINES_FILES):
        raise CannotRun(
            "not_a_store", f"{folder} has files in it and is no store", "name another folder: --store chdb:DIR"
        )
    if not names and not create:
        raise CannotRun("no_store", f"there is no store at {url}", "load something first: quiclens load PATH…")


def _cannot_run(error: StoreError, url: str) -> CannotRun:
    text = str(error)
    told = _ENGINES_CODE.search(text)
    code = error.code or (int(told[1]) if told else None)
    if code in (_UNKNOWN_TABLE, _UNKNOWN_COLUMN) or "UNKNOWN_TABLE" in text:
        message = "the store's tables are missing or older than this quiclens"
        return CannotRun("store_not_migrated", message, "quiclens migrate")
    if code == _ACCESS_DENIED:
        lacks = _LACKS.search(text)
        message = f"the user may not do this at {url}" + (f": it lacks {lacks[1]}" if lacks else "")
        return CannotRun("store_denied", message, "let an administrator of that server grant it")
    if code in stores.NOT_LET_IN:
        variable = stores.PASSWORD_VARIABLE
        hint = f"write the user as http://user@host:8123/database and set {variable}, or {variable}_FILE"
        return CannotRun("store_refused", f"{url} refused the user or the password", hint)
    if code == _UNKNOWN_DATABASE:
        return CannotRun("no_store", f"{url} has no such database", "create it there, then: quiclens migrate")
    if _UNREACHABLE.search(text):
        return CannotRun("no_store", f"no server answers at {url}", "is it running, and is this its HTTP port?")
    if code is None and "HTTP" in text:
        return CannotRun("no_store", f"what answers at {url} is no ClickHouse", "name the port of its HTTP interface")
    return CannotRun("store_failed", _short(text))


def _short(text: str) -> str:
    """The first line of what the engine said, without the query that it repeats."""
    first = text.strip().splitlines()[0] if text.strip() else "the store failed without a word"
    for repeats in (". In query ", ": In scope ", ": While "):
        first = first.partition(repeats)[0]
    return first
