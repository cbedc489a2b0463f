"""The reference of the schema, in Markdown, made of the catalogue: `python -m quiclens_schema.reference`."""

import sys
from collections.abc import Iterator

from quiclens_schema.catalogue import CAUSES, Catalogue, Column, Table, load
from quiclens_schema.plain_text import markdown_text

_FIRST = ("requests", "connections", "streams", "episodes", "events", "request_lines", "rejects")
_UNITS = {"us": "µs", "B": "bytes"}


def reference(catalogue: Catalogue) -> Iterator[str]:
    """Line by line."""
    yield "# The schema"
    yield ""
    yield (
        "Made of `schema/catalogue` by `make man`; a test compares them. A name is the same in Arrow batches, "
        "in ClickHouse and in JSON. What may change between versions: [stability.md](stability.md); how to ask: "
        "[sql-cookbook.md](sql-cookbook.md). What *may hold an address* is truncated by a collector that redacts."
    )
    names = [*_FIRST, *(name for name in catalogue.tables if name not in _FIRST)]
    for name in names:
        yield from _table(catalogue.table(name))
    yield "\n## Causes\n"
    causes = ", ".join(f"`{each}`" for each in CAUSES)
    yield f"What a request waits for, in the order in which ties are decided: {causes}."
    yield "What each means, and what helps against it: the page `/causes`, and `collectors/CAUSES.md`."
    yield "\n## Reasons for a reject\n"
    yield "| `reason` | |\n|---|---|"
    for reason in catalogue.reasons:
        yield f"| `{reason.name}` | {markdown_text(reason.doc)} |"
    yield "\n## Events\n"
    known = len(catalogue.events)
    yield f"Names of `events.name` that are known, {known:,} of them; all others are kept as they were logged:"
    yield ", ".join(f"`{each.name}`" for each in catalogue.events) + "."


def _table(table: Table) -> Iterator[str]:
    yield f"\n## `{table.name}`\n"
    yield f"One row is {markdown_text(table.row)}."
    kept = [f"sorted by {', '.join(f'`{each}`' for each in table.order_by)}"] if table.order_by else []
    kept += [f"partitions by `{table.partition_by}`"] if table.partition_by else []
    kept += [f"all versions are in `{table.versions}`"] if table.versions else []
    if kept:
        yield f"{'; '.join(kept)[:1].upper()}{'; '.join(kept)[1:]}."
    yield "\n| column | type | unit | |\n|---|---|---|---|"
    yield from (_column(each) for each in table.columns)


def _column(column: Column) -> str:
    said = [markdown_text(column.doc)] if column.doc else []
    said += ["may hold an address"] if column.may_hold_address else []
    said += [f"filled by the store: `{column.default}`"] if column.default else []
    unit = _UNITS.get(column.unit, column.unit)
    return f"| `{column.name}` | `{column.type}` | {unit} | {'; '.join(said)} |"


if __name__ == "__main__":
    sys.stdout.write("\n".join(reference(load())) + "\n")
