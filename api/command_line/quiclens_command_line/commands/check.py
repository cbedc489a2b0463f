"""quiclens check"""

from pathlib import Path
from typing import Annotated

import typer
from quiclens_ingest.settings import IngestSettings
from quiclens_schema.store import DEFAULT_URL

from quiclens_command_line.commands.cluster import Brokers, Config, settings_of
from quiclens_command_line.commands.options import AsJson, StoreUrl
from quiclens_command_line.output import answer
from quiclens_command_line.show.check import check_view
from quiclens_questions import collector
from quiclens_questions.check import check as ask_check
from quiclens_questions.failure import DONE, NOTHING_FOUND, CannotRun

_LOOKED_AT, _SHOWN = 10_000, 500  # lines of a mapping, characters of one that is rejected


def check(
    log: Annotated[
        str,
        typer.Argument(metavar="LOG", help="A server's log: a file, or a folder of them; or a mapping, FILE.toml."),
    ],
    brokers: Brokers = "",
    config: Config = None,
    store: StoreUrl = DEFAULT_URL,
    as_json: AsJson = False,
) -> int:
    """Say which causes a server's log can show, and which fields to switch on for the others.

    yes: the log has it. inferred: it follows from other events. no: this log cannot show it, and quiclens will never
    say that it took no time. A server's log shows why data waited, a client's when they arrived; files of one stack
    and side are one table. Reads the logs alone; no store is opened.

    Of a mapping (see `quiclens lines`) it reads the newest 10,000 rows or messages, and says by what they can be joined
    with traces. Nothing is stored.

    Examples:

    \b
    quiclens check /var/log/quic/4a1f9bd2c3e0.sqlog
    quiclens check /var/log/quic --json
    quiclens check http_log.toml --store http://clickhouse:8123/quiclens
    """
    if not Path(log).exists():
        raise CannotRun("unreadable", f"there is nothing at {log}", "name a log file or a folder of them")
    if log.endswith(".toml"):
        return _check_mapping(Path(log), store, settings_of(config, brokers=brokers), as_json)
    found = ask_check(log)
    answer(as_json, found.document(), *check_view(found))
    return DONE if found.rows and not found.params["rejected"] else NOTHING_FOUND


def _check_mapping(path: Path, store: str, settings: IngestSettings, as_json: bool) -> int:
    # Here: of a log no store is opened, and Arrow starts threads as it is imported.
    from quiclens_ingest.from_table import TableReader
    from quiclens_ingest.from_topic import newest
    from quiclens_ingest.lines import Converter
    from quiclens_ingest.load import LoadError
    from quiclens_schema.store import StoreError

    from quiclens_command_line.commands.lines import mapping_of
    from quiclens_command_line.show.joins import joins_view
    from quiclens_questions.client_secret import client_secret
    from quiclens_questions.joins import joins
    from quiclens_questions.opening import opened

    source = mapping_of(path)
    with opened(store) as data, client_secret(data) as secret:
        converter = Converter(source, collector.find(), secret)
        without_time = 0
        try:
            if source.topic:
                lines = newest(source, settings.brokers, settings.kafka, _LOOKED_AT)
            else:
                table = TableReader(data, source, converter)
                lines, without_time = table.newest(_LOOKED_AT), table.without_time()
            converted = converter.convert(lines)
        except (LoadError, StoreError) as error:
            raise CannotRun("lines_failed", str(error)) from error
    bad = converted.rejected_places()
    first = next((line.text.decode(errors="replace")[:_SHOWN] for line in lines if line.offset in bad), "")
    found = joins(source.place, converted.rows(), len(lines), converted.rejected, first, without_time)
    answer(as_json, found, *joins_view(found))
    return DONE if found["by_id"] + found["by_client"] and not found["rejected"] else NOTHING_FOUND
