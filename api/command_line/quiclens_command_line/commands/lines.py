"""quiclens lines"""

import logging
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Annotated, Any

import typer
from quiclens_ingest.mapping import Mapping, MappingError, read
from quiclens_ingest.settings import IngestSettings
from quiclens_schema.migrate import migrate
from quiclens_schema.plain_text import log_to_stderr
from quiclens_schema.served import ServedStore
from quiclens_schema.store import DEFAULT_URL, Store, StoreError
from quiclens_schema.supervised import Supervisor

from quiclens_command_line.commands.cluster import Brokers, Config, settings_of
from quiclens_command_line.commands.options import AsJson, StoreUrl
from quiclens_command_line.output import answer, say
from quiclens_command_line.show.lines import lines_view
from quiclens_command_line.stopping import told_to_stop
from quiclens_questions import collector
from quiclens_questions.client_secret import client_secret
from quiclens_questions.failure import DONE, NOTHING_FOUND, CannotRun, usage
from quiclens_questions.moment import moment
from quiclens_questions.opening import opened

if TYPE_CHECKING:
    from quiclens_ingest.lines import Converter

_log = logging.getLogger("quiclens.lines")

_AGAIN = "what was stored stays; the same command goes on"


def lines(
    mapping: Annotated[Path, typer.Argument(metavar="MAPPING.toml", help="Which table or topic, and what means what.")],
    since: Annotated[
        str, typer.Option("--since", metavar="T", help="Rows of a table from then: RFC 3339, or 2h, 7d ago.")
    ] = "1d",
    follow: Annotated[bool, typer.Option("--follow", help="Go on until told to stop.")] = False,
    every_seconds: Annotated[
        float,
        typer.Option("--every-seconds", min=1, metavar="N", help="With --follow, how often a table is looked at."),
    ] = 10,
    brokers: Brokers = "",
    group: Annotated[str, typer.Option("--group", metavar="NAME", help="The consumer group of a topic.")] = "",
    config: Config = None,
    store: StoreUrl = DEFAULT_URL,
    as_json: AsJson = False,
) -> int:
    """Take request lines from your own table in the same ClickHouse, or from your own Kafka topic of JSON lines.

    Each row or message becomes a line of an access log, which finds its trace by connection id and stream, or by
    client, method, path and time: `quiclens check MAPPING.toml` says by which. Taking again changes nothing. Addresses
    are not kept unless the mapping says redact = false.

    Examples:

    \b
    quiclens lines http_log.toml --since 7d --store http://clickhouse:8123/quiclens
    quiclens lines http_log.toml --follow --store http://clickhouse:8123/quiclens
    quiclens lines edge.toml --follow --brokers kafka:9092 --store http://clickhouse:8123/quiclens
    """
    # Here, since Arrow starts threads as it is imported.
    from quiclens_ingest.lines import Converter
    from quiclens_ingest.load import LoadError

    source = mapping_of(mapping)
    program = collector.find()
    first = moment(since, datetime.now(UTC))
    stop = told_to_stop() if follow else None
    if follow:
        log_to_stderr()
    with opened(store, create=True) as data, client_secret(data) as secret:
        if follow and data.is_embedded:
            raise usage("--follow needs a store that others link", "hold it by `quiclens serve`, or use a server")
        migrate(data)
        converter = Converter(source, program, secret)
        try:
            if source.topic:
                taken = _of_topic(data, source, converter, settings_of(config, brokers=brokers), group, stop)
            else:
                taken = _of_table(data, source, converter, first, every_seconds, stop)
        except (LoadError, StoreError) as error:
            raise CannotRun("lines_failed", str(error), _AGAIN) from error
    document = {"source": source.place, **taken}
    answer(as_json, document, *lines_view(document))
    is_empty = not document["lines"]
    return NOTHING_FOUND if document["rejected"] or (is_empty and not follow) else DONE


def _of_topic(
    store: Store, source: Mapping, converter: "Converter", settings: IngestSettings, group: str, stop: Event | None
) -> dict[str, Any]:
    """Take a topic until told to stop or, where nobody can, to its end."""
    from quiclens_ingest.from_topic import TopicReader
    from quiclens_ingest.load import and_link

    group = group or f"quiclens-lines-{source.name}"
    topic = TopicReader(store, source, converter, settings.brokers, group, settings.kafka)
    if stop is None:
        return asdict(and_link(store, lambda: topic.take(Event(), _nothing, until_end=True))[0])
    supervisor = Supervisor()
    supervisor.begun()
    return asdict(topic.take(stop, supervisor.alive))


def _of_table(
    store: Store, source: Mapping, converter: "Converter", first: datetime, seconds: float, stop: Event | None
) -> dict[str, Any]:
    """Take a table once or, until told to stop, again and again: a store that is away is asked again the next time."""
    from quiclens_ingest.from_table import TableReader, TableSummary
    from quiclens_ingest.load import LoadError, and_link

    if isinstance(store, ServedStore):
        said = f"{source.place}: a store that quiclens holds has no tables of others"
        raise CannotRun("no_table", said, "name the ClickHouse server")
    table = TableReader(store, source, converter)
    if stop is None:
        return asdict(and_link(store, lambda: table.take(first, _progress))[0])
    found = TableSummary()
    supervisor = Supervisor()
    supervisor.begun()
    while not stop.is_set():
        try:
            new = table.take(table.since(first, datetime.now(UTC)))
        except (LoadError, StoreError) as error:
            _log.error("nothing was taken: %s", error)
        else:
            found = found.plus(new)
            if new.rows:
                _log.info("%d rows, %d lines, rejected %s", new.rows, new.lines, dict(new.rejected) or "none")
        supervisor.alive()
        stop.wait(seconds)
    return asdict(found)


def mapping_of(path: Path) -> Mapping:
    """A mapping file; UsageMistake for what cannot be."""
    try:
        return read(path)
    except MappingError as error:
        raise usage(str(error), "deploy/docs/your-own-table.md has examples") from error


def _progress(done: int, total: int) -> None:
    if total > 1_000_000:
        say(f"{done:,} of {total:,} rows")


def _nothing() -> None:
    """Nobody is to be told."""
