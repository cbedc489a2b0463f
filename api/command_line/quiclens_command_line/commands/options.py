"""Options that several commands take, each written once."""

import re
from typing import Annotated

import typer
from quiclens_schema.store import DEFAULT_URL

from quiclens_command_line.completing import offered_columns, offered_conditions
from quiclens_questions.failure import usage
from quiclens_web.front.keep import GB, Keep

_DAYS = re.compile(r"(\d+(?:\.\d+)?)d?")

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
AsTicket = Annotated[bool, typer.Option("--markdown", help="Print a ticket.")]
PagesAddress = Annotated[
    str, typer.Option("--address", metavar="URL", help="Of your pages, for the links of a ticket.")
]
WhereTexts = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        metavar="COLUMN=VALUE",
        help="Only requests where this holds; also != >= <= > < and ~ !~ with a pattern, such as path~/api/* (in "
        "quotes, for the shell). Numbers may have a unit (duration_us>=1.5s). 'a=1 OR a=2' is one condition; repeat "
        "the option to narrow. An empty value means unknown.",
        autocompletion=offered_conditions,
    ),
]
By = Annotated[
    str,
    typer.Option(
        "--by", metavar="COLUMN", help="Answer for each value of this column.", autocompletion=offered_columns
    ),
]
Limit = Annotated[int, typer.Option("--limit", min=1, max=10_000, metavar="N", help="How many rows at most.")]
Since = Annotated[str, typer.Option("--since", metavar="T", help="From then: RFC 3339, or 15m, 2h, 7d ago.")]
Until = Annotated[str, typer.Option("--until", metavar="T", help="Before then.")]

Expect = Annotated[
    str,
    typer.Option(
        "--expect",
        envvar="QUICLENS_EXPECT",
        metavar="SERVER,…",
        help="Servers that must send, or @FILE with one a line; those of the last day are expected anyway.",
        show_default=False,
    ),
]

KeepEvents = Annotated[
    str, typer.Option("--keep-events", metavar="DAYS", help="Drop days of events older than this; 0 never.")
]
KeepSummaries = Annotated[
    str, typer.Option("--keep-summaries", metavar="DAYS", help="Drop days of everything else; 0 never.")
]
MaxDisk = Annotated[
    float, typer.Option("--max-disk-gb", min=0, metavar="N", help="Drop the oldest days beyond this; 0 no bound.")
]


def keeping(events: str, summaries: str, disk_gb: float) -> Keep:
    """What the three options say together; UsageMistake for what is no number of days."""
    return Keep(_days("--keep-events", events), _days("--keep-summaries", summaries), int(disk_gb * GB))


def _days(option: str, text: str) -> float:
    match = _DAYS.fullmatch(text)
    if match is None:
        raise usage(f"{option} {text!r} is no number of days", f"{option} 7d, or 0 for ever")
    return float(match[1])
