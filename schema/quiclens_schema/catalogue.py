"""The catalogue as values: tables with their columns, events, fields, reject reasons, and the causes."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

CAUSES = (
    "handshake",
    "amplification",
    "upload",
    "server_think",
    "pto",
    "loss_recovery",
    "connection_flow_control",
    "stream_flow_control",
    "stream_limit",
    "scheduling",
    "bandwidth",
    "cwnd_blocked",
    "pacing",
    "app_limited",
    "queueing",
    "network",
    "remote_wait",
    "receiving",
    "receiver_hol",
    "unattributed",
)
"""Every cause, in the order in which ties are decided and parts are shown."""


class CatalogueError(Exception):
    """The catalogue contradicts itself or cannot be found."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name in Arrow, ClickHouse and JSON, its ClickHouse type, its unit and what it means."""

    name: str
    type: str
    doc: str
    unit: str = ""
    default: str = ""
    may_hold_address: bool = False
    """What a log says, as it says it: a collector that redacts leaves networks in place of addresses."""

    @property
    def is_sent(self) -> bool:
        """Whether the collector sends it; a column with a default is filled by the store."""
        return not self.default


@dataclass(frozen=True, slots=True)
class Table:
    """One table: what a row is, how it is kept, and its columns in order."""

    name: str
    row: str
    engine: str
    order_by: tuple[str, ...]
    partition_by: str
    columns: tuple[Column, ...]
    versions: str = ""
    """For a view: the table that has all versions of its rows."""

    def column(self, name: str) -> Column:
        for column in self.columns:
            if column.name == name:
                return column
        raise CatalogueError(f"table {self.name} has no column {name}")

    @property
    def is_linked(self) -> bool:
        """Whether link alone writes it; rows of the other tables come from collectors."""
        return bool(self.versions)

    @property
    def stored(self) -> str:
        """The table that has its rows."""
        return self.versions or self.name

    @property
    def sent_columns(self) -> tuple[str, ...]:
        """Names of the columns that a batch of this table may have, and no others."""
        return tuple(column.name for column in self.columns if column.is_sent)

    @property
    def key_columns(self) -> tuple[str, ...]:
        """Names of the columns that a batch must have: identity, partition and version."""
        version = self.engine.partition("(")[2].removesuffix(")")
        return tuple(dict.fromkeys(name for name in (*self.order_by, self.partition_by, version) if name))


@dataclass(frozen=True, slots=True)
class KnownEvent:
    """A known event: its canonical name and the spellings under which writers log it."""

    name: str
    seen: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Field:
    """A known field: its column, how its value becomes the column's, and the paths at which writers put it."""

    name: str
    kind: str
    at: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reason:
    """Why something did not become a row."""

    name: str
    doc: str


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Everything in schema/catalogue but the dialects, which only the collector reads."""

    tables: Mapping[str, Table]
    events: tuple[KnownEvent, ...]
    fields: tuple[Field, ...]
    frame_fields: tuple[Field, ...]
    reasons: tuple[Reason, ...]

    def table(self, name: str) -> Table:
        try:
            return self.tables[name]
        except KeyError:
            raise CatalogueError(f"no table {name} in the catalogue") from None


def catalogue_folder() -> Path:
    """The folder of the catalogue: beside the package in the source tree, inside it when installed."""
    package = Path(__file__).resolve().parent
    for folder in (package / "catalogue", package.parent / "catalogue"):
        if (folder / "events.toml").is_file():
            return folder
    raise CatalogueError(f"no catalogue beside {package}")


@cache
def load() -> Catalogue:
    """The catalogue, read once per process."""
    return read(catalogue_folder())


def read(folder: Path) -> Catalogue:
    """Read every TOML file of a folder as one catalogue; a name that stands twice is an error."""
    tables: dict[str, Table] = {}
    events: list[KnownEvent] = []
    fields: list[Field] = []
    frame_fields: list[Field] = []
    reasons: list[Reason] = []
    for path in sorted(folder.glob("*.toml")):
        document = tomllib.loads(path.read_text(encoding="utf-8"))
        for entry in document.get("table", []):
            table = _table(entry)
            if table.name in tables:
                raise CatalogueError(f"table {table.name} stands twice, again in {path.name}")
            tables[table.name] = table
        events += [KnownEvent(entry["name"], tuple(entry.get("seen", ()))) for entry in document.get("event", [])]
        fields += [_field(entry) for entry in document.get("field", [])]
        frame_fields += [_field(entry) for entry in document.get("frame_field", [])]
        reasons += [Reason(entry["name"], entry["doc"]) for entry in document.get("reason", [])]
    return Catalogue(MappingProxyType(tables), tuple(events), tuple(fields), tuple(frame_fields), tuple(reasons))


def _table(entry: Mapping[str, Any]) -> Table:
    columns = tuple(Column(**column) for column in entry["columns"])
    names = [column.name for column in columns]
    if len(names) != len(set(names)):
        raise CatalogueError(f"table {entry['name']} has a column twice")
    unknown = set(entry["order_by"]) - set(names)
    if unknown:
        raise CatalogueError(f"table {entry['name']} is ordered by columns it lacks: {', '.join(sorted(unknown))}")
    return Table(
        name=entry["name"],
        row=entry["row"],
        engine=entry["engine"],
        order_by=tuple(entry["order_by"]),
        partition_by=entry["partition_by"],
        columns=columns,
        versions=entry.get("versions", ""),
    )


def _field(entry: Mapping[str, Any]) -> Field:
    return Field(entry["name"], entry["kind"], tuple(entry["at"]))
