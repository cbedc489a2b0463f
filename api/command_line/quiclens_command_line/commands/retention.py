"""quiclens retention"""

import logging
from datetime import UTC, datetime
from typing import Annotated, Any

import typer
from quiclens_schema.migrate import migrate
from quiclens_schema.plain_text import log_to_stderr
from quiclens_schema.store import DEFAULT_URL, StoreError

from quiclens_command_line.commands.options import AsJson, KeepEvents, KeepSummaries, MaxDisk, StoreUrl, keeping
from quiclens_command_line.output import answer, say
from quiclens_command_line.stopping import told_to_stop
from quiclens_questions.failure import DONE, Failure
from quiclens_questions.opening import opened
from quiclens_questions.units import size
from quiclens_store_server.retention import Sweep, sweep
from quiclens_web.front.keep import Keep

_log = logging.getLogger("quiclens.retention")


def retention(
    keep_events: KeepEvents = "7d",
    keep_summaries: KeepSummaries = "90d",
    max_disk_gb: MaxDisk = 0,
    every_hours: Annotated[
        float,
        typer.Option("--every-hours", min=0, metavar="N", help="Once in so many, until told to stop; 0 once."),
    ] = 0,
    store: StoreUrl = DEFAULT_URL,
    as_json: AsJson = False,
) -> int:
    """Drop days that are too old or too many, as `quiclens serve` does by itself.

    For a store that only `quiclens load` fills, and for a ClickHouse server: run it by timer, or with --every-hours as
    a service. Where another process serves the store, that process does it. Days count from the day of the traces or
    from their loading, whichever is later; events go first, and the newest day stays.

    Examples:

    \b
    quiclens retention --keep-events 7d --keep-summaries 90d
    quiclens retention --keep-events 0 --keep-summaries 0 --max-disk-gb 200
    quiclens retention --every-hours 1 --store https://quiclens@clickhouse:8443/quiclens
    """
    keep = keeping(keep_events, keep_summaries, max_disk_gb)
    if every_hours:
        return _again_and_again(store, keep, every_hours * 3600)
    done = _once(store, keep)
    document: dict[str, Any] = {
        "disk_bytes": done.disk_bytes,
        "partitions": len(done.dropped),
        "rows": sum(each.rows for each in done.dropped),
        "bytes": sum(each.bytes for each in done.dropped),
    }
    line = f"dropped {document['rows']:,} rows, {size(document['bytes'])}; {size(done.disk_bytes)} stay"
    answer(as_json, document, line)
    return DONE


def _once(store: str, keep: Keep) -> Sweep:
    with opened(store) as data:
        migrate(data)
        done = sweep(data, keep, datetime.now(UTC))
    for line in done.told:
        say(line)
    return done


def _again_and_again(store: str, keep: Keep, seconds: float) -> int:
    """Until SIGTERM. A store that is away is asked again the next time, as one that answers is."""
    log_to_stderr()
    stop = told_to_stop()
    while not stop.is_set():
        try:
            done = _once(store, keep)
            _log.info("dropped %d partitions; %s stay", len(done.dropped), size(done.disk_bytes))
        except (Failure, StoreError) as error:
            _log.error("nothing was dropped: %s", error)
        stop.wait(seconds)
    return DONE
