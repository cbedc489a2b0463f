"""quiclens ingest"""

import logging
import signal
import sys
from pathlib import Path
from threading import Event
from typing import Annotated, Any

import typer
from quiclens_ingest.ingest import ingest as take
from quiclens_ingest.kafka import BrokerError, KafkaException
from quiclens_ingest.settings import SettingsError
from quiclens_ingest.settings import read as read_settings
from quiclens_ingest.take import TakeError
from quiclens_schema.migrate import migrate
from quiclens_schema.store import DEFAULT_URL, without_password

from quiclens_api.commands.options import AsJson, StoreUrl
from quiclens_api.failure import DONE, NOTHING_FOUND, CannotRun, usage
from quiclens_api.opening import opened
from quiclens_api.output import answer, say

Config = Annotated[Path | None, typer.Option("--config", metavar="FILE", help="Settings as TOML.")]
Brokers = Annotated[str, typer.Option("--brokers", metavar="HOST:PORT,…", help="Where Kafka answers.")]
Group = Annotated[str, typer.Option("--group", metavar="NAME", help="The consumer group.")]
Metrics = Annotated[
    str | None, typer.Option("--metrics", metavar="HOST:PORT", help="Where /metrics and /healthz answer; '' nowhere.")
]


def ingest(
    brokers: Brokers = "",
    group: Group = "",
    metrics: Metrics = None,
    config: Config = None,
    store: StoreUrl = DEFAULT_URL,
    as_json: AsJson = False,
) -> int:
    """Take what collectors send from Kafka into the store, and link requests, until told to stop.

    Rows are stored first and offsets committed after, so a process that dies loses nothing. Several processes of one
    group share the work; they need a store that many may open, http://…; chdb:DIR is for one.

    [bold]Examples[/]

    \b
    quiclens ingest --brokers kafka:9092 --store http://clickhouse:8123/quiclens
    quiclens ingest --config ingest.toml
    """
    words = {"brokers": brokers, "group": group, "metrics_address": metrics}
    given: dict[str, Any] = {name: word for name, word in words.items() if word or (word == "" and name[0] == "m")}
    try:
        settings = read_settings(config, given)
    except SettingsError as error:
        raise usage(str(error)) from error
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(message)s")
    stop = Event()
    for ending in (signal.SIGTERM, signal.SIGINT):
        signal.signal(ending, lambda *_: stop.set())
    with opened(store, create=True) as data:
        migrate(data)
        where = f"{settings.brokers} as {settings.group}"
        try:
            found = take(data, settings, stop, ready=lambda: say(f"taking from {where} to {without_password(store)}"))
        except (TakeError, BrokerError, KafkaException) as error:
            raise CannotRun("ingest_failed", str(error), "what was stored is committed; start it again") from error
        except OSError as error:
            raise CannotRun("no_port", f"cannot answer at {settings.metrics_address}: {error}", "--metrics") from error
    rows = sum(found.rows.values())
    answer(as_json, found.document(), f"{found.messages:,} messages, {rows:,} rows in {found.seconds:,.1f} s")
    return NOTHING_FOUND if found.rejected else DONE
