"""Options that several commands take, each written once."""

from typing import Annotated

import typer
from quiclens_schema.store import DEFAULT_URL

StoreUrl = Annotated[
    str,
    typer.Option(
        "--store",
        envvar="QUICLENS_STORE",
        metavar="URL",
        help=f"Where the data are: chdb:DIR, or http(s)://user@host:8123/database; {DEFAULT_URL} if not said.",
        show_default=False,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print exactly one JSON document on standard output.")]
WhereTexts = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        metavar="COLUMN=VALUE",
        help="Only requests where this holds; also !=, >=, <= (in quotes, for the shell); repeat to narrow. "
        "An empty value means unknown.",
    ),
]
By = Annotated[str, typer.Option("--by", metavar="COLUMN", help="Answer for each value of this column.")]
Limit = Annotated[int, typer.Option("--limit", min=1, max=10_000, metavar="N", help="How many rows at most.")]
Since = Annotated[str, typer.Option("--since", metavar="T", help="From then: RFC 3339, or 15m, 2h, 7d ago.")]
Until = Annotated[str, typer.Option("--until", metavar="T", help="Before then.")]
