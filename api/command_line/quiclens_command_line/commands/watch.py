"""quiclens watch"""

from datetime import UTC, datetime
from typing import Annotated

import typer
from quiclens_schema.store import DEFAULT_URL

from quiclens_command_line.commands.options import AsJson, StoreUrl
from quiclens_command_line.output import answer
from quiclens_command_line.show.watch import watch_view
from quiclens_questions.failure import DONE, NOTHING_FOUND
from quiclens_questions.moment import moment
from quiclens_questions.opening import opened
from quiclens_questions.watch import watch as ask_watch
from quiclens_questions.watched import watched


def watch(
    window: Annotated[str, typer.Option("--window", metavar="T", help="How long the stretch is: 5m, 1h.")] = "5m",
    baseline: Annotated[
        str, typer.Option("--baseline", metavar="T", help="How long the stretch before it is that it is compared with.")
    ] = "1d",
    by: Annotated[
        str, typer.Option("--by", metavar="A,B,…", help="What makes a cell, the coarsest first.")
    ] = "carrier,region,city",
    until: Annotated[str, typer.Option("--until", metavar="T", help="The stretch ends then; now if not said.")] = "",
    store: StoreUrl = DEFAULT_URL,
    as_json: AsJson = False,
) -> int:
    """Find the carriers, regions and cities that have just become worse.

    Of each cell, how many requests are slower than the slowest tenth to the slowest of all were before, failed, waited
    for a handshake, went over something else than QUIC, lost a packet, or waited for a retransmission: far more than
    before, and more than chance makes of thousands of cells in a week (5 % false discoveries). Cells with too few
    requests are pooled with their likes. The stretch ends with a whole five minutes; requests count when they began,
    once they are linked.

    Examples:

    \b
    quiclens watch
    quiclens watch --window 15m --baseline 7d --by carrier,network_type
    quiclens watch --until 2026-11-21T08:00:00Z --json
    """
    now = datetime.now(UTC)
    asked = watched(window, baseline, by, moment(until, now) if until else now)
    with opened(store) as data:
        found = ask_watch(data, asked)
    answer(as_json, found.document(), *watch_view(found))
    return DONE if found.rows else NOTHING_FOUND
