"""The topics as values: who writes and reads them, how long they are kept, and the table whose columns they carry."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from types import MappingProxyType

from quiclens_schema import catalogue
from quiclens_schema.catalogue import Catalogue, CatalogueError

REJECTS = "quic.rejects.v1"
"""Where what could not become a row goes, whoever found it."""


@dataclass(frozen=True, slots=True)
class Topic:
    """One topic. Its name is its file's; `table` is empty where values are no rows."""

    name: str
    value: str
    key: str
    producer: str
    consumer: str
    partitions: int
    retention_hours: int
    message_bytes_max: int
    table: str = ""

    def settings(self) -> dict[str, str]:
        """What a broker is told of it."""
        return {
            "retention.ms": str(self.retention_hours * 3_600_000),
            "max.message.bytes": str(self.message_bytes_max),
            "cleanup.policy": "delete",
            "compression.type": "producer",  # buffers are compressed inside the values
        }


def topics_folder() -> Path:
    """The folder of the topics: beside the package in the source tree, inside it when installed."""
    package = Path(__file__).resolve().parent
    for folder in (package / "topics", package.parent / "topics"):
        if folder.is_dir():
            return folder
    raise CatalogueError(f"no topics beside {package}")


@cache
def load() -> Mapping[str, Topic]:
    """Every topic by name, read once per process and checked against the catalogue."""
    return read(topics_folder(), catalogue.load())


def of_tables() -> Mapping[str, Topic]:
    """The topics that carry rows, by table."""
    return {topic.table: topic for topic in load().values() if topic.table}


def read(folder: Path, tables: Catalogue) -> Mapping[str, Topic]:
    """Read every file of a folder; CatalogueError for an unknown key or table, and for a table with two topics."""
    found: dict[str, Topic] = {}
    by_table: dict[str, str] = {}
    for path in sorted(folder.glob("*.toml")):
        topic = _topic(path)
        if topic.table:
            tables.table(topic.table)
            if other := by_table.get(topic.table):
                raise CatalogueError(f"table {topic.table} has two topics, {other} and {topic.name}")
            by_table[topic.table] = topic.name
        found[topic.name] = topic
    return MappingProxyType(found)


def _topic(path: Path) -> Topic:
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    types = {field.name: field.type for field in fields(Topic) if field.name != "name"}
    if unknown := sorted(set(document) - set(types)):
        raise CatalogueError(f"{path.name} has unknown keys: {', '.join(unknown)}")
    if missing := sorted(set(types) - set(document) - {"table"}):
        raise CatalogueError(f"{path.name} lacks {', '.join(missing)}")
    for name, value in document.items():
        if type(value) is not types[name] or (isinstance(value, int) and value <= 0):
            raise CatalogueError(f"{path.name}: {name} cannot be {value!r}")
    return Topic(name=path.stem, **document)
