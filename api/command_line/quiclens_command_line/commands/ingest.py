"""quiclens ingest"""

from dataclasses import replace
from typing import Annotated

import typer
from quiclens_schema.migrate import migrate
from quiclens_schema.plain_text import log_to_stderr
from quiclens_schema.store import DEFAULT_URL, without_password
from quiclens_schema.supervised import Supervisor

from quiclens_command_line.commands.cluster import Brokers, Config, Group, settings_of
from quiclens_command_line.commands.options import AsJson, StoreUrl
from quiclens_command_line.output import answer, say
from quiclens_command_line.stopping import told_to_stop
from quiclens_questions.failure import DONE, NOTHING_FOUND, CannotRun
from quiclens_questions.opening import opened

Metrics = Annotated[
    str | None, typer.Option("--metrics", metavar="HOST:PORT", help="Where /metrics and /healthz answer; '' nowhere.")
]
Instance = Annotated[
    str,
    typer.Option(
        "--instance",
        metavar="NAME",
        help="This process's name in the group: it keeps its partitions while it starts again. Each has another one.",
    ),
]


def ingest(
    brokers: Brokers = "",
    group: Group = "",
    instance: Instance = "",
    metrics: Metrics = None,
    config: Config = None,
    only_check: Annotated[bool, typer.Option("--check", help="Only print the settings as they are in effect.")] = False,
    store: StoreUrl = DEFAULT_URL,
    as_json: AsJson = False,
) -> int:
    """Take what collectors send from Kafka into the store, and link requests, until told to stop.

    Rows are stored first and offsets committed after, so a process that dies loses nothing. Several processes of one
    group share the work; they need a store that many may open, http://…; chdb:DIR is for one.

    Examples:

    \b
    quiclens ingest --brokers kafka:9092 --store http://clickhouse:8123/quiclens
    quiclens ingest --config ingest.toml
    quiclens ingest --config ingest.toml --check
    """
    # Here, since Arrow starts threads as it is imported, and `serve` must have none before it is confined.
    from quiclens_ingest.ingest import ingest as take
    from quiclens_ingest.kafka import BrokerError, KafkaException
    from quiclens_ingest.take import TakeError

    settings = settings_of(config, brokers=brokers, group=group, instance=instance)
    if metrics is not None:
        settings = replace(settings, metrics_address=metrics)
    if only_check:
        answer(as_json, settings.document(), *(f"{name} = {value!r}" for name, value in settings.document().items()))
        return DONE
    log_to_stderr()
    stop = told_to_stop()
    supervisor = Supervisor()
    with opened(store, create=True) as data:
        migrate(data)
        where = f"{settings.brokers} as {settings.group}"

        def ready(measured: str) -> None:
            say(f"taking from {where} to {without_password(store)}")
            if measured:
                say(f"metrics are served at {measured}")
            supervisor.begun()

        try:
            found = take(data, settings, stop, ready=ready, turned=supervisor.alive)
        except (TakeError, BrokerError, KafkaException) as error:
            raise CannotRun("ingest_failed", str(error), "what was stored is committed; start it again") from error
        except OSError as error:
            raise CannotRun("no_port", f"cannot answer at {settings.metrics_address}: {error}", "--metrics") from error
    rows = sum(found.rows.values())
    answer(as_json, found.document(), f"{found.messages:,} messages, {rows:,} rows in {found.seconds:,.1f} s")
    return NOTHING_FOUND if found.rejected else DONE
