"""quiclens report"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated

import typer
from quiclens_schema.store import DEFAULT_URL, Store
from rich.console import RenderableType

from quiclens_api import where as conditions
from quiclens_api.commands.options import AsJson, By, StoreUrl, WhereTexts
from quiclens_api.failure import DONE, NOTHING_FOUND, usage
from quiclens_api.opening import opened
from quiclens_api.output import answer
from quiclens_api.questions.connections import Report, connection_columns
from quiclens_api.questions.loss import loss
from quiclens_api.questions.rtt import rtt
from quiclens_api.show.report import loss_view, rtt_view
from quiclens_api.where import Where

Ask = Callable[[Store, str, Where, Sequence[str]], Report]
View = Callable[[Report, str], Iterator[RenderableType]]
REPORTS: Mapping[str, tuple[Ask, View]] = {"rtt": (rtt, rtt_view), "loss": (loss, loss_view)}


def report(
    name: Annotated[str, typer.Argument(metavar="NAME", help="rtt or loss.")],
    by: By = "",
    where: WhereTexts = None,
    store: StoreUrl = DEFAULT_URL,
    as_json: AsJson = False,
) -> int:
    """Repeat a published study on your own traces, with intervals and the number of samples.

    rtt: round trip times, p50 to p99. loss: how often packets are lost, how long until they are sent again.

    [bold]Examples[/]

    \b
    quiclens report rtt
    quiclens report rtt --by carrier
    quiclens report loss --where region=south
    """
    if name not in REPORTS:
        raise usage(f"there is no report {name!r}", f"reports are {', '.join(REPORTS)}")
    question, view = REPORTS[name]
    columns = connection_columns()
    dimension = conditions.by_column(by, columns) if by else ""
    narrowed = conditions.read(where or [], datetime.now(UTC), columns)
    with opened(store) as data:
        found = question(data, dimension, narrowed, where or [])
    answer(as_json, found.document(), *view(found, dimension))
    return DONE if found.rows else NOTHING_FOUND
