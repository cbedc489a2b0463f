"""SQL files, and the tables that they use for as long as one step takes."""

import re
import time
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any
from uuid import uuid4

from quiclens_schema import catalogue
from quiclens_schema.store import Store

_SECONDS_MAX = 3600  # no step takes so long: who made an older table is gone
# Steps are many and small: compiling an expression costs more than it saves.
_SETTINGS = {"compile_expressions": 0, "compile_aggregate_expressions": 0, "compile_sort_description": 0}
_INCLUDED = re.compile(r"\(/\* (\w+)\.sql(?: of (\w+))? \*/\)")


class Scratch:
    """Tables that live as long as one step, under names that no other process takes."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._suffix = f"{int(time.time()):08x}{uuid4().hex[:24]}"  # when it was made, and nobody else's
        self._names: dict[str, str] = {}

    def make(self, name: str, columns: str) -> None:
        """Make a table in memory; it takes the place of one of that name."""
        self._names[name] = f"link_{name}_{self._suffix}"
        self._store.command(f"CREATE OR REPLACE TABLE {self._names[name]} ({columns}) ENGINE = Memory")

    def empty(self, name: str) -> None:
        """Take all rows out of a table."""
        self._store.command(f"TRUNCATE TABLE {self._names[name]}")

    def run(self, file: str, bound: Mapping[str, Any] | None = None, settings: Mapping[str, Any] | None = None) -> None:
        """Run one SQL file with those of the parameters, and of the tables' names, that it takes."""
        self._store.command(sql(file), taken(file, {**self._names, **(bound or {})}), {**_SETTINGS, **(settings or {})})

    def rows(self, file: str, bound: Mapping[str, Any] | None = None) -> list[tuple[Any, ...]]:
        """The rows of a SQL file that is a query."""
        return self._store.query(sql(file), taken(file, {**self._names, **(bound or {})})).rows

    def holds(self, file: str) -> bool:
        """What a SQL file says that asks whether something is so."""
        ((is_so,),) = self.rows(file)
        return bool(is_so)

    def count(self, name: str, where: str = "1", bound: Mapping[str, Any] | None = None) -> int:
        """Rows of a table."""
        (rows,) = self._store.query(f"SELECT count() FROM {self._names[name]} WHERE {where}", bound).one()
        return int(rows)

    def names(self) -> dict[str, str]:
        """Of each table the name under which the store has it."""
        return dict(self._names)

    def __enter__(self) -> "Scratch":
        return self

    def __exit__(self, *_: object) -> None:
        for name in self._names.values():
            self._store.command(f"DROP TABLE IF EXISTS {name} SYNC")


@cache
def sql(name: str, table: str = "") -> str:
    """The text of a SQL file, with the files that it includes written into it; `{known:…}` is the mark of `table`."""
    text = files("quiclens_ingest").joinpath("sql", f"{name}.sql").read_text(encoding="utf-8")
    text = text.replace("{known:", f"{{{table}_known:")
    return _INCLUDED.sub(lambda found: f"(\n{sql(found[1], found[2] or '')})", text)


def columns_of(table: str, without: tuple[str, ...] = ()) -> str:
    """Columns of a table of the catalogue with their types, for a scratch table."""
    columns = catalogue.load().table(table).columns
    return ", ".join(f"`{column.name}` {column.type}" for column in columns if column.name not in without)


def taken(name: str, bound: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the parameters that a SQL file takes."""
    text = sql(name)
    return {key: value for key, value in bound.items() if f"{{{key}:" in text}


def sweep(store: Store, after_seconds: float = _SECONDS_MAX) -> None:
    """Drop tables that processes left behind which were killed, and that were made so long ago."""
    for (name,) in store.query(sql("scratch_tables")).rows:
        if time.time() - int(name[-32:-24], 16) > after_seconds:
            store.command(f"DROP TABLE IF EXISTS {name} SYNC")
