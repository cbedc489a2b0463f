"""quiclens status"""

from datetime import UTC, datetime
from typing import Annotated

import typer
from quiclens_ingest.kafka import BrokerError, lag
from quiclens_ingest.settings import DEFAULT_GROUP
from quiclens_schema.store import DEFAULT_URL, without_password
from quiclens_schema.topics import of_tables
from rich.text import Text

from quiclens_api.commands.options import AsJson, StoreUrl
from quiclens_api.failure import DONE, NOTHING_FOUND, CannotRun
from quiclens_api.opening import opened
from quiclens_api.output import answer
from quiclens_api.questions.status import status as ask_status
from quiclens_api.show.report import plain_view
from quiclens_api.units import size

Brokers = Annotated[
    str, typer.Option("--brokers", metavar="HOST:PORT,…", help="Where Kafka answers: also show what is not yet stored.")
]
Group = Annotated[str, typer.Option("--group", metavar="NAME", help="The consumer group of `quiclens ingest`.")]


def status(
    brokers: Brokers = "", group: Group = DEFAULT_GROUP, store: StoreUrl = DEFAULT_URL, as_json: AsJson = False
) -> int:
    """Show whether data arrive: traces, last event and rejects per server, heartbeats per collector, and the room.

    With --brokers also the lag: messages on the topics that are not yet stored.

    [bold]Examples[/]

    \b
    quiclens status
    quiclens status --store http://clickhouse.example:8123/quiclens --json
    quiclens status --brokers kafka:9092
    """
    behind = lag_of(brokers, group) if brokers else {}
    with opened(store) as data:
        found = ask_status(data, without_password(store), datetime.now(UTC))
    about = found.params
    if brokers:
        about["lag"] = behind
    line = f"store {without_password(store)}, schema {about['schema_version']}, {size(about['disk_bytes'])} on disk, "
    line += f"{about['request_lines']:,} access log lines"
    if brokers:
        line += f", {sum(behind.values()):,} messages not yet stored"
    beats = [
        f"collector {each['collector']}: heartbeat {each['heartbeat_age_s']:.0f} s ago" for each in about["collectors"]
    ]
    view = plain_view(found, "Who sends", "Nothing was loaded yet.")
    answer(as_json, found.document(), *view, *(Text(beat) for beat in beats), Text(line, style="dim"))
    return DONE if found.rows else NOTHING_FOUND


def lag_of(brokers: str, group: str) -> dict[str, int]:
    """Messages not yet stored, by topic."""
    try:
        return lag(brokers, group, [topic.name for topic in of_tables().values()])
    except BrokerError as error:
        raise CannotRun("no_broker", str(error), "is it running, and is this its address?") from error
