"""quiclens status"""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from quiclens_ingest.kafka import BrokerError, lag
from quiclens_ingest.settings import IngestSettings
from quiclens_schema import owner
from quiclens_schema import store as stores
from quiclens_schema.store import DEFAULT_URL, Store, without_password
from quiclens_schema.topics import of_tables

from quiclens_command_line.commands.cluster import Brokers, Config, Group, settings_of
from quiclens_command_line.commands.options import AsJson, Expect, StoreUrl
from quiclens_command_line.expected import expected
from quiclens_command_line.output import answer
from quiclens_command_line.show.status import status_view
from quiclens_questions.failure import DONE, NOTHING_FOUND, CannotRun
from quiclens_questions.freshness import Unreachable, freshness
from quiclens_questions.opening import opened
from quiclens_questions.status import status as ask_status

Metrics = Annotated[
    str, typer.Option("--metrics", metavar="HOST:PORT", help="Where an ingest answers /metrics: also show freshness.")
]


def status(
    brokers: Brokers = "",
    group: Group = "",
    config: Config = None,
    metrics: Metrics = "",
    expect: Expect = "",
    store: StoreUrl = DEFAULT_URL,
    as_json: AsJson = False,
) -> int:
    """Is it working? Servers expected and seen, what is traced, joined and rejected, how much room it takes, what next.

    Each line of the first part is one part of the way from a server to an answer, as on the page /working.
    With --brokers or --config also the lag: messages on the topics that are not yet stored. With --metrics also the
    freshness: how long a heartbeat takes from the collector until it can be queried.

    Examples:

    \b
    quiclens status
    quiclens status --expect web-1,web-2
    quiclens status --store http://clickhouse.example:8123/quiclens --json
    quiclens status --brokers kafka:9092 --metrics 127.0.0.1:9464
    """
    behind = lag_of(settings_of(config, brokers=brokers, group=group)) if brokers or config else None
    fresh = _freshness(metrics) if metrics else None
    with opened(store) as data:
        found = ask_status(data, without_password(store), datetime.now(UTC), expected(expect))
        found.params["served"] = _served(store, data)
    found.params["lag"] = behind
    found.params["freshness"] = fresh
    answer(as_json, found.document(), *status_view(found))
    return DONE if found.rows else NOTHING_FOUND


def _served(url: str, store: Store) -> dict[str, Any] | None:
    """Who serves an embedded store, and by which version of Landlock it is confined, 0 for by none; None where nobody
    serves it, or where it is another machine's."""
    folder = stores.place(url).folder
    holder = owner.read(Path(folder)) if folder and not store.is_embedded else None
    return {"url": holder.url, "pid": holder.pid, "landlock": holder.landlock} if holder else None


def lag_of(settings: IngestSettings) -> dict[str, int]:
    """Messages not yet stored, by topic."""
    try:
        return lag(settings.brokers, settings.group, [topic.name for topic in of_tables().values()], settings.kafka)
    except BrokerError as error:
        raise CannotRun("no_broker", str(error), "is it running, and is this its address?") from error


def _freshness(address: str) -> dict[str, float | int | None]:
    try:
        return freshness(address)
    except Unreachable as error:
        raise CannotRun("no_metrics", str(error), "metrics_address of `quiclens ingest`, 127.0.0.1:9464") from error
