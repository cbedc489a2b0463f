"""quiclens failed"""

from datetime import UTC, datetime

from quiclens_schema.store import DEFAULT_URL

from quiclens_api import where as conditions
from quiclens_api.commands.options import AsJson, Limit, StoreUrl, WhereTexts
from quiclens_api.failure import DONE, NOTHING_FOUND
from quiclens_api.opening import opened
from quiclens_api.output import answer
from quiclens_api.questions.connections import connection_columns
from quiclens_api.questions.failed import failed as ask_failed
from quiclens_api.show.report import plain_view


def failed(
    where: WhereTexts = None,
    limit: Limit = 20,
    store: StoreUrl = DEFAULT_URL,
    as_json: AsJson = False,
) -> int:
    """Count the connections that never became a request, by carrier, region and reason.

    No access log has them: a handshake that never completed leaves a trace and nothing else.

    [bold]Examples[/]

    \b
    quiclens failed
    quiclens failed --where carrier=acme
    """
    narrowed = conditions.read(where or [], datetime.now(UTC), connection_columns())
    with opened(store) as data:
        found = ask_failed(data, narrowed, where or [], limit)
    title = "Connections that never became a request"
    answer(as_json, found.document(), *plain_view(found, title, "Every connection became a request."))
    return DONE if found.rows else NOTHING_FOUND
