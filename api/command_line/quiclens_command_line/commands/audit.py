"""quiclens audit"""

import time
from typing import Annotated

import typer
from quiclens_schema.store import DEFAULT_URL
from rich.text import Text

from quiclens_command_line.commands.options import AsJson, Limit, StoreUrl
from quiclens_command_line.output import answer
from quiclens_command_line.show.reports_of_connections import plain_view
from quiclens_questions.audit import audit as ask_audit
from quiclens_questions.failure import DONE, NOTHING_FOUND
from quiclens_questions.opening import opened


def audit(
    limit: Limit = 100,
    wait: Annotated[
        float,
        typer.Option("--wait", min=0, metavar="SECONDS", help="How long rows may be on their way while others write."),
    ] = 5,
    store: StoreUrl = DEFAULT_URL,
    as_json: AsJson = False,
) -> int:
    """Look for records that are missing or stand twice, in every trace whose events were kept.

    Every record of a trace has a number, and became an event or a reject; a number that is neither was lost on the
    way. Exit code 1 when there is any. Days whose events retention dropped are left out, and counted.

    Where another process serves the store, a second look after --wait seconds tells what is missing from what is still
    coming.

    Examples:

    \b
    quiclens audit
    quiclens audit --json --limit 10000
    """
    with opened(store) as data:
        found = ask_audit(data, limit, None if data.is_embedded else lambda: time.sleep(wait))
    about = found.params
    line = f"{found.samples:,} traces, {about['events']:,} events: "
    line += f"{about['missing']:,} missing, {about['doubled']:,} twice"
    if about["traces_dropped"]:
        line += f"; {about['traces_dropped']:,} traces are of days whose events retention dropped"
    answer(as_json, found.document(), *plain_view(found, "Not as it was sent", "Nothing is missing."), Text(line))
    return NOTHING_FOUND if found.rows else DONE
