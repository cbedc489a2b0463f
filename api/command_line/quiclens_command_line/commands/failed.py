"""quiclens failed"""

from datetime import UTC, datetime

from quiclens_schema.store import DEFAULT_URL

from quiclens_command_line.commands.options import AsJson, Limit, Since, StoreUrl, Until, WhereTexts
from quiclens_command_line.output import answer
from quiclens_command_line.show.reports_of_connections import plain_view
from quiclens_command_line.show.slow import groups_line
from quiclens_questions import where as conditions
from quiclens_questions.connections import connection_columns
from quiclens_questions.failed_connections import failed as ask_failed
from quiclens_questions.failure import DONE, NOTHING_FOUND
from quiclens_questions.opening import opened
from quiclens_questions.report import ReportQuestion
from quiclens_questions.window import time_window


def failed(
    where: WhereTexts = None,
    since: Since = "",
    until: Until = "",
    limit: Limit = 20,
    store: StoreUrl = DEFAULT_URL,
    as_json: AsJson = False,
) -> int:
    """Count the connections that never became a request, by carrier, region and reason.

    No access log has them: a handshake that never completed leaves a trace and nothing else.

    Examples:

    \b
    quiclens failed
    quiclens failed --since 1d --where carrier=acme
    """
    now = datetime.now(UTC)
    window = time_window(since, until, now)
    asked = ReportQuestion(
        where=conditions.read(where or [], now, connection_columns()),
        texts=tuple(where or ()),
        since=window.since,
        until=window.until,
    )
    with opened(store) as data:
        found = ask_failed(data, asked, limit)
    title = "Connections that never became a request"
    nothing = "No connection failed." if found.coverage["requests"] else "No connections match."
    left_out = groups_line(found.groups, found.groups_shown)
    answer(as_json, found.document(), *plain_view(found, title, nothing), *([left_out] if left_out else []))
    return DONE if found.rows else NOTHING_FOUND
