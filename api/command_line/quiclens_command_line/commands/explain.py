"""quiclens explain"""

from typing import Annotated

import typer
from quiclens_schema.store import DEFAULT_URL

from quiclens_command_line.commands.options import AsJson, AsTicket, PagesAddress, StoreUrl
from quiclens_command_line.output import answer, print_text, say
from quiclens_command_line.show.begun import begun_view
from quiclens_command_line.show.explain import explain_view
from quiclens_questions.begun import Begun, begun
from quiclens_questions.explain import explain as ask_explain
from quiclens_questions.failure import DONE, NOTHING_FOUND, usage
from quiclens_questions.opening import opened
from quiclens_questions.request_ticket import request_ticket


def explain(
    request_id: Annotated[
        str,
        typer.Argument(
            metavar="REQUEST_ID", help="<connection_id>/<stream_id>, an external id, or log:<log_id>/<offset>."
        ),
    ],
    events: Annotated[int, typer.Option("--events", min=0, max=200, metavar="N", help="Rows of the log to show.")] = 25,
    markdown: AsTicket = False,
    address: PagesAddress = "",
    store: StoreUrl = DEFAULT_URL,
    as_json: AsJson = False,
) -> int:
    """Say why one request took as long as it did: causes that add up to its duration.

    A connection may go by any of its connection IDs, a request by its x-request-id. The beginning of an id is enough
    where one traced request alone begins so; else those that do are listed, as for a whole connection.

    Examples:

    \b
    quiclens explain 4a1f9bd2c3e0/8
    quiclens explain 0af7651916cd43dd8448eb211c80319c
    quiclens explain 4a1f9bd2c3e0/8 --events 100
    quiclens explain 4a1f9bd2c3e0
    quiclens explain 4a1f9bd2c3e0/8 --markdown --address https://quiclens.example > ticket.md
    """
    if markdown and as_json:
        raise usage("--markdown and --json are two forms of one answer", "leave one of them out")
    with opened(store) as data:
        found = ask_explain(data, request_id)
        others = Begun() if found.is_found else begun(data, request_id)
        if others.all == 1:
            found, others = ask_explain(data, others.requests[0]["request_id"]), Begun()
    if others.requests:
        found.document["begun"] = others.requests
    for other in found.namesakes:
        say(f"also called {request_id}: {other}")
    if markdown and found.is_found:
        print_text("\n".join(request_ticket(found, address.rstrip("/"))) + "\n")
    else:
        answer(as_json, found.document, *explain_view(found, events), *begun_view(others))
    return DONE if found.is_found else NOTHING_FOUND
