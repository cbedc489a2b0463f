"""quiclens check"""

from pathlib import Path
from typing import Annotated

import typer
from quiclens_schema.store import DEFAULT_URL

from quiclens_api.commands.options import AsJson, StoreUrl
from quiclens_api.failure import DONE, NOTHING_FOUND, CannotRun
from quiclens_api.output import answer
from quiclens_api.questions.check import check as ask_check
from quiclens_api.show.check import check_view


def check(
    log: Annotated[str, typer.Argument(metavar="LOG", help="A server's log: a file, or a folder of them.")],
    store: StoreUrl = DEFAULT_URL,
    as_json: AsJson = False,
) -> int:
    """Say which causes a server's log can show, and which fields to switch on for the others.

    yes: the log has it. inferred: it follows from other events. no: this log cannot show it, and quiclens will never
    say that it took no time. A server's log shows why data waited, a client's when they arrived; files of one stack
    and side are one table. Reads the logs alone; no store is opened.

    [bold]Examples[/]

    \b
    quiclens check /var/log/quic/4a1f9bd2c3e0.sqlog
    quiclens check /var/log/quic --json
    """
    if not Path(log).exists():
        raise CannotRun("unreadable", f"there is nothing at {log}", "name a log file or a folder of them")
    found = ask_check(log)
    answer(as_json, found.document(), *check_view(found))
    return DONE if found.rows and not found.params["rejected"] else NOTHING_FOUND
