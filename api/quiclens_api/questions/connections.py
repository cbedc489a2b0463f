"""What the reports about connections share: their dimensions, their conditions, their shape."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from quiclens_schema.catalogue import Column

from quiclens_api.where import request_columns

EVERYTHING = "everything"  # the dimension of a report without --by: one value, all
GROUPS_AT_MOST = 1_000
FEW_SAMPLES = 30
_DIMENSIONS = (
    "vantage",
    "stack",
    "congestion_controller",
    "server",
    "cluster",
    "pop",
    "carrier",
    "asn",
    "country",
    "region",
    "city",
    "h3_cell",
    "network_type",
    "app_version",
    "device",
    "client_network",
)

Row = dict[str, Any]


@dataclass(frozen=True)
class Report:
    """A table with a name: what every report, and every dashboard, draws."""

    name: str
    columns: tuple[tuple[str, str], ...]
    rows: list[list[Any]]
    samples: int
    coverage: Row
    params: Row = field(default_factory=dict)

    def document(self) -> Row:
        return {
            "name": self.name,
            "params": self.params,
            "columns": [{"name": name, "unit": unit} for name, unit in self.columns],
            "rows": self.rows,
            "samples": self.samples,
            "coverage": self.coverage,
        }


def connection_columns() -> dict[str, Column]:
    """The columns of `requests` that are true of the whole connection: what --by and --where may name here."""
    known = request_columns()
    return {name: known[name] for name in _DIMENSIONS}


def by_value(row: Mapping[str, Any], by: str) -> list[Any]:
    """The leading cell of a row, none without --by."""
    return [row["by_value"]] if by else []


def by_columns(by: str) -> tuple[tuple[str, str], ...]:
    return ((by, ""),) if by else ()


def params(by: str, where: Sequence[str], **more: Any) -> Row:
    return {"by": by or None, "where": list(where), **more}
