"""quiclens load"""

from pathlib import Path
from typing import Annotated

import typer
from quiclens_schema.store import DEFAULT_URL, without_password

from quiclens_command_line.commands.options import AsJson, StoreUrl
from quiclens_command_line.loading import load_into
from quiclens_command_line.output import answer, say
from quiclens_command_line.show.load import load_view
from quiclens_questions.failure import DONE, NOTHING_FOUND, usage
from quiclens_questions.opening import opened


def load(
    paths: Annotated[
        list[Path] | None, typer.Argument(metavar="PATH…", help="Logs: files, or folders of them.")
    ] = None,
    requests: Annotated[
        list[Path] | None,
        typer.Option(
            "--requests", metavar="ACCESS_LOG", help="HTTP access logs, after the paths: JSON lines, or see below."
        ),
    ] = None,
    requests_format: Annotated[
        Path | None,
        typer.Option(metavar="FILE.toml", help="What the access logs' lines are: nginx, Envoy, Caddy, HAProxy …"),
    ] = None,
    requests_host: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Host that wrote the access logs, or the name of the collector that reads them."
        ),
    ] = None,
    redact: Annotated[
        bool, typer.Option("--redact", help="Keep no client address, header value, payload byte, user name.")
    ] = False,
    store: StoreUrl = DEFAULT_URL,
    as_json: AsJson = False,
) -> int:
    """Load QUIC event logs, and the access logs that say who asked.

    qlog, sqlog, newline-delimited JSON and quic_trace lines; plain, gzip or zstd, told by content. Loading a file
    again, renamed or grown, changes no answer.

    What a log says is stored as it says it, so that `export` gives every record back. With --redact addresses become
    networks, and what a request carried is not kept, as collectors do on servers.

    Access logs of several hosts may begin with one line: load each with its --requests-host, or their lines replace
    each other. With a collector's name they are the rows that this collector made.

    Examples:

    \b
    quiclens load /var/log/quic
    quiclens load server/*.qlog --requests access.jsonl
    quiclens load logs/ --requests access.log --requests-format nginx.toml   (the line: preset = "nginx-combined")
    quiclens load --requests access.jsonl   (lines alone: how long, not why)
    quiclens load trace.sqlog.gz --store chdb:/srv/quiclens
    """
    logs, lines = paths or [], requests or []
    if not logs and not lines:
        raise usage("there is nothing to load", "name logs or folders of them, or access logs after --requests")
    for path in (*logs, *lines):
        if not path.exists():
            say(f"cannot read {path}: there is nothing there")
    with opened(store, create=True) as data:
        document = load_into(data, logs, lines, requests_format, redact=redact, requests_host=requests_host)
    next_step = "quiclens slow" + ("" if store == DEFAULT_URL else f" --store {without_password(store)}")
    answer(as_json, document, *load_view(document, next_step))
    if no_time := document["rejected"].get("no_time", 0):
        some = "some of these" if document["connections"] else "these"
        lines_of = f"lines of an access log ({no_time:,} without a time of a trace)"
        say(f"{some} look like {lines_of}: name them after --requests")
    is_empty = not document["connections"] and not document["requests"]
    return NOTHING_FOUND if document["rejected"] or is_empty else DONE
