"""quiclens migrate"""

from typing import Annotated, Any

import typer
from quiclens_ingest.kafka import BrokerError, create_topics, wait_until_ready
from quiclens_ingest.link import link
from quiclens_schema import migrate as migrations
from quiclens_schema import topics
from quiclens_schema.store import DEFAULT_URL, without_password

from quiclens_api.commands.cluster import Brokers, Config, settings_of
from quiclens_api.commands.options import AsJson, StoreUrl
from quiclens_api.failure import DONE, CannotRun
from quiclens_api.opening import opened
from quiclens_api.output import answer

_BROKER_SECONDS = 30

Replicas = Annotated[int, typer.Option("--replicas", min=1, metavar="N", help="Copies of each topic that is made.")]


def migrate(
    brokers: Brokers = "",
    replicas: Replicas = 1,
    config: Config = None,
    store: StoreUrl = DEFAULT_URL,
    as_json: AsJson = False,
) -> int:
    """Bring the store's tables to this version; `load` and `ingest` do it by themselves.

    With --brokers or --config also the topics: missing ones are made, all get the retention and sizes of this version.
    Links every hour again where something changed. Nothing happens the second time, and nothing is ever dropped.

    [bold]Examples[/]

    \b
    quiclens migrate
    quiclens migrate --store http://clickhouse.example:8123/quiclens
    quiclens migrate --brokers kafka-1:9092,kafka-2:9092,kafka-3:9092 --replicas 3
    """
    made = _topics(brokers, config, replicas) if brokers or config else None
    with opened(store, create=True) as data:
        applied = migrations.migrate(data)
        if applied:
            link(data)  # a migration may have given `requests` columns that only linking fills
    shown = without_password(store)
    document: dict[str, Any] = {"store": shown, "applied": list(applied)}
    lines = [f"{shown}: {', '.join(applied) if applied else 'up to date'}"]
    if made is not None:
        document["topics"] = made
        lines.append(f"topics: {', '.join(made) if made else 'up to date'}")
    answer(as_json, document, *lines)
    return DONE


def _topics(brokers: str, config: Config, replicas: int) -> list[str]:
    settings = settings_of(config, brokers=brokers)
    try:
        wait_until_ready(settings.brokers, _BROKER_SECONDS, settings.kafka)
        return create_topics(settings.brokers, topics.load().values(), replicas, settings.kafka)
    except BrokerError as error:
        raise CannotRun("no_broker", str(error), "is it running, and is this its address?") from error
