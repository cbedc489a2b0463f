"""quiclens slow"""

import math
from datetime import UTC, datetime
from typing import Annotated

import typer
from quiclens_schema.store import DEFAULT_URL

from quiclens_command_line.commands.options import AsJson, By, Limit, Since, StoreUrl, Until, WhereTexts
from quiclens_command_line.output import answer, say
from quiclens_command_line.show.slow import slow_view
from quiclens_questions import where as conditions
from quiclens_questions.failure import DONE, NOTHING_FOUND, usage
from quiclens_questions.moment import seconds_ago, whole_seconds
from quiclens_questions.opening import opened
from quiclens_questions.slow import Slow, Sort, newest
from quiclens_questions.slow import slow as ask_slow
from quiclens_questions.units import age
from quiclens_questions.window import time_window

_MICROSECONDS_AT_MOST = (1 << 63) - 1


def slow(
    since: Since = "",
    until: Until = "",
    min_ms: Annotated[float, typer.Option("--min-ms", metavar="N", help="Only requests at least this long.")] = 0,
    where: WhereTexts = None,
    by: By = "",
    sort: Annotated[
        Sort,
        typer.Option(
            "--sort", help="Which come first: the longest, or those that took the most times as long as is usual."
        ),
    ] = "duration",
    limit: Limit = 20,
    store: StoreUrl = DEFAULT_URL,
    as_json: AsJson = False,
) -> int:
    """List the slowest requests, with what each waited for most.

    Undated requests, of traces without a wall clock, are there only without --since. What is usual is the median of
    the requests with the same carrier, path and size of response, in the window and twice as long before it.

    Examples:

    \b
    quiclens slow --since 2h --min-ms 500
    quiclens slow --by carrier --limit 3
    quiclens slow --since 1h --sort usual
    quiclens slow --where region=south --where 'status>=500'
    quiclens slow --where top_cause=loss_recovery --json

    Then explain one of them: quiclens explain REQUEST_ID
    """
    now = datetime.now(UTC)
    window = time_window(since, until, now)
    question = Slow(
        limit=limit,
        since=window.since,
        until=window.until,
        min_us=_microseconds(min_ms),
        where=conditions.read(where or [], now),
        by=conditions.by_column(by) if by else "",
        sort=sort,
    )
    with opened(store) as data:
        document = ask_slow(data, question)
        last = newest(data) if question.since and not document["requests"] else None
    answer(as_json, document, *slow_view(document, question.by, is_by_usual=sort == "usual"))
    if last and question.since and last < question.since and not as_json:
        say(f"the newest request began {age(seconds_ago(last, now))} ago, at {whole_seconds(last)}, before --since")
    return DONE if document["requests"] else NOTHING_FOUND


def _microseconds(milliseconds: float) -> int:
    if not math.isfinite(milliseconds) or not 0 <= milliseconds * 1e3 <= _MICROSECONDS_AT_MOST:
        raise usage(f"--min-ms {milliseconds} is no length of time", "write milliseconds, 0 or more")
    return math.ceil(milliseconds * 1e3)
