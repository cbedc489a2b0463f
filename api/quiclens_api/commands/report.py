"""quiclens report"""

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Annotated

import typer
from quiclens_schema.catalogue import Column
from quiclens_schema.store import DEFAULT_URL, Store
from rich.console import RenderableType

from quiclens_api import where as conditions
from quiclens_api.commands.options import AsJson, Since, StoreUrl, Until, WhereTexts
from quiclens_api.failure import DONE, NOTHING_FOUND, usage
from quiclens_api.moment import moment
from quiclens_api.opening import opened
from quiclens_api.output import answer
from quiclens_api.questions.asked import Asked, Report
from quiclens_api.questions.connections import connection_columns
from quiclens_api.questions.events import events
from quiclens_api.questions.loss import loss
from quiclens_api.questions.rtt import rtt
from quiclens_api.questions.tail import tail
from quiclens_api.savings import removable
from quiclens_api.show.report import events_view, loss_view, rtt_view
from quiclens_api.show.tail import tail_view
from quiclens_api.where import request_columns

Ask = Callable[[Store, Asked], Report]
View = Callable[[Report, Asked], Iterator[RenderableType]]
Columns = Callable[[], dict[str, Column]]
REPORTS: Mapping[str, tuple[Ask, View, Columns]] = {
    "tail": (tail, tail_view, request_columns),
    "rtt": (rtt, rtt_view, connection_columns),
    "loss": (loss, loss_view, connection_columns),
    "events": (events, events_view, connection_columns),
}
Bys = Annotated[
    list[str] | None,
    typer.Option("--by", metavar="COLUMN", help="One row per value of this column; repeat, or a,b, for combinations."),
]
Without = Annotated[
    str,
    typer.Option("--without", metavar="CAUSE", help="tail: also predict the quantiles had this cause been absent."),
]


def report(
    name: Annotated[str, typer.Argument(metavar="NAME", help=f"{', '.join(REPORTS)}.")],
    by: Bys = None,
    where: WhereTexts = None,
    since: Since = "",
    until: Until = "",
    without: Without = "",
    store: StoreUrl = DEFAULT_URL,
    as_json: AsJson = False,
) -> int:
    """Quantiles and shares of many requests, each with its number of samples and a 95 % interval.

    tail: how long requests took, p50 to p99. rtt: round trip times. loss: how often packets are lost, how they are
    found lost, how long until they are sent again. These two repeat published studies, one trace a connection.
    events: sums and means of events, weighted where collectors kept the events of a share of the connections.

    Two intervals, never mixed. sampling: other requests of the same kind would have given another quantile; the
    exact binomial interval of order statistics, requests taken as independent. prediction (--without): how far
    predicted savings were from true ones where the lab ran requests again without the cause, as if all of them erred
    to the same side. Only traced requests whose log could have shown the cause are compared.

    [bold]Examples[/]

    \b
    quiclens report tail --by carrier
    quiclens report tail --by carrier --by region --since 2d
    quiclens report tail --without loss_recovery
    quiclens report rtt --by carrier
    quiclens report loss --where region=south
    quiclens report events --by carrier
    """
    if name not in REPORTS:
        raise usage(f"there is no report {name!r}", f"reports are {', '.join(REPORTS)}")
    question, view, known = REPORTS[name]
    if without and name != "tail":
        raise usage(f"--without is for report tail, not {name}", f"quiclens report tail --without {without}")
    columns, now = known(), datetime.now(UTC)
    words = [word for text in by or [] for word in text.split(",")]
    asked = Asked(
        by=tuple(dict.fromkeys(conditions.by_column(word, columns) for word in words)),
        where=conditions.read(where or [], now, columns),
        texts=tuple(where or ()),
        since=moment(since, now) if since else None,
        until=moment(until, now) if until else None,
        without=removable(without) if without else "",
    )
    with opened(store) as data:
        found = question(data, asked)
    answer(as_json, found.document(), *view(found, asked))
    return DONE if found.rows else NOTHING_FOUND
