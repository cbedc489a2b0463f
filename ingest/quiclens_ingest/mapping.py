"""A mapping file: which table or topic of somebody else's has a line for each request, and what of it means what.

table = "web.http_log"          # or topic = "edge.access", of JSON lines
time = "ts"                     # a table's column by which new rows are found
key = ["request_id"]            # what a row is known by; all that is read of it where this is absent

[format]                        # as an access log's, see collectors/README.md; JSON is its syntax
time_is = "end"

[format.columns]
time = { from = "ts" }
duration_us = { from = "duration_ms", unit = "ms" }
connection_id = { from = "quic_connection" }
"""

import json
import tomllib
from collections.abc import Mapping as Names
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

UNITS = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
"""Of a time that is a number: how many there are in a second."""

_KEYS = ("table", "topic", "name", "time", "time_unit", "key", "keep", "format")


class MappingError(Exception):
    """A mapping file cannot be used; one line for people."""


@dataclass(frozen=True, slots=True)
class Mapping:
    """Whose lines these are, and their format."""

    name: str
    """First part of the lines' log ids: the table's or topic's name unless said."""
    format: str
    """An access log's format as TOML, as the collector reads it."""
    fields: tuple[str, ...]
    """Names that the format reads: columns of a table, top-level keys of a line."""
    table: tuple[str, ...] = ()
    """A table's name, its database before it where it is another; empty where it is a topic."""
    topic: str = ""
    time: str = ""
    time_unit: str = "s"
    key: tuple[str, ...] = ()
    keep: tuple[str, ...] = field(default=())
    """Columns that stay with the line without a column of their own."""
    is_redacted: bool = True
    """No address, header value or user of anybody is kept."""

    @property
    def columns(self) -> tuple[str, ...]:
        """What is read of a table, each once."""
        return tuple(dict.fromkeys((*self.key, *self.fields, *self.keep)))

    @property
    def place(self) -> str:
        """What people call it."""
        return f"topic {self.topic}" if self.topic else f"table {'.'.join(self.table)}"


def read(path: Path) -> Mapping:
    """Read a mapping file; MappingError, which names the file and what to change, when it is none."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise MappingError(f"cannot read {path}: {error}") from error
    try:
        return of(document)
    except MappingError as error:
        raise MappingError(f"{path}: {error}") from error


def of(document: Names[str, Any]) -> Mapping:
    """What a mapping file says; MappingError when that is not enough, or more than there is."""
    if unknown := sorted(set(document) - set(_KEYS)):
        raise MappingError(f"unknown: {', '.join(unknown)}; there are {', '.join(_KEYS)}")
    table, topic, time = (_text(document, name) for name in ("table", "topic", "time"))
    if bool(table) == bool(topic):
        raise MappingError("name one of table and topic")
    if table and not time:
        raise MappingError("a table needs time, the column by which new rows are found")
    if topic and (extra := [name for name in ("time", "time_unit", "key", "keep") if name in document]):
        raise MappingError(f"{', '.join(extra)}: of tables alone, a message is known by its offset")
    unit = _text(document, "time_unit") or "s"
    if unit not in UNITS:
        raise MappingError(f"time_unit is one of {', '.join(UNITS)}")
    table_parts = tuple(table.split(".")) if table else ()
    if len(table_parts) > 2 or (table and not all(table_parts)):
        raise MappingError(f"table is TABLE or DATABASE.TABLE, not {table!r}")
    name = _text(document, "name") or table or topic
    if not name or len(name) > 100 or "/" in name or not name.isprintable():
        raise MappingError("name has 1 to 100 printable characters and no slash")
    form = document.get("format")
    if not isinstance(form, dict) or not isinstance(columns := form.get("columns"), dict) or not columns:
        raise MappingError("[format.columns] says which column is which; at least time")
    if {"preset", "format", "syntax"} & set(form):
        raise MappingError("[format] has no preset, syntax or format here: lines are JSON")
    sources = [each.get("from") if isinstance(each, dict) else None for each in columns.values()]
    if not all(isinstance(source, str) and source for source in sources) or "time" not in columns:
        raise MappingError('columns are written NAME = { from = "…" }, and time is one of them')
    keep, key = _names(document, "keep"), _names(document, "key")
    # `labels.carrier` is a part of the column `labels`.
    fields = tuple(dict.fromkeys(str(source).partition(".")[0] for source in sources))
    # Addresses and users of others are not kept unless somebody says so.
    form = {"syntax": "json", "redact": True, **form}
    return Mapping(name, toml(form), fields, table_parts, topic, time, unit, key, keep, form["redact"] is not False)


def toml(values: Names[str, Any], *parents: str) -> str:
    """A table of texts, numbers, booleans and tables of these as TOML."""
    lines, tables = [], []
    for name, value in values.items():
        quoted = _quoted(name)
        if isinstance(value, dict):
            tables.append(f"[{'.'.join((*parents, quoted))}]\n{toml(value, *parents, quoted)}")
        elif isinstance(value, str):
            lines.append(f"{quoted} = {_quoted(value)}\n")
        elif isinstance(value, bool):
            lines.append(f"{quoted} = {str(value).lower()}\n")
        elif isinstance(value, int):
            lines.append(f"{quoted} = {value}\n")
        else:
            raise MappingError(f"[format]: {name} cannot be {value!r}")
    return "".join((*lines, *tables))


def _quoted(text: str) -> str:
    """A basic string: JSON's escapes are TOML's, and DEL is one more."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _text(document: Names[str, Any], name: str) -> str:
    value = document.get(name, "")
    if not isinstance(value, str):
        raise MappingError(f"{name} is a text, not {value!r}")
    return value


def _names(document: Names[str, Any], name: str) -> tuple[str, ...]:
    value = document.get(name, [])
    if not isinstance(value, list) or not all(isinstance(each, str) and each for each in value):
        raise MappingError(f"{name} is a list of column names")
    return tuple(value)
