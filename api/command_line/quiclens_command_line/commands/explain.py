"""quiclens explain"""

from typing import Annotated

import typer
from quiclens_schema.store import DEFAULT_URL

from quiclens_command_line.commands.options import AsJson, StoreUrl
from quiclens_command_line.output import answer, say
from quiclens_command_line.show.explain import explain_view
from quiclens_questions.explain import explain as ask_explain
from quiclens_questions.failure import DONE, NOTHING_FOUND
from quiclens_questions.opening import opened


def explain(
    request_id: Annotated[
        str,
        typer.Argument(
            metavar="REQUEST_ID", help="<connection_id>/<stream_id>, an external id, or log:<log_id>/<offset>."
        ),
    ],
    events: Annotated[int, typer.Option("--events", min=0, max=200, metavar="N", help="Rows of the log to show.")] = 25,
    store: StoreUrl = DEFAULT_URL,
    as_json: AsJson = False,
) -> int:
    """Say why one request took as long as it did: causes that add up to its duration.

    A connection may go by any of its connection IDs, a request by its x-request-id.

    Examples:

    \b
    quiclens explain 4a1f9bd2c3e0/8
    quiclens explain 0af7651916cd43dd8448eb211c80319c
    quiclens explain 4a1f9bd2c3e0/8 --events 100
    """
    with opened(store) as data:
        found = ask_explain(data, request_id)
    for other in found.namesakes:
        say(f"also called {request_id}: {other}")
    answer(as_json, found.document, *explain_view(found, events))
    return DONE if found.is_found else NOTHING_FOUND
