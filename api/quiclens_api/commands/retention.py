"""quiclens retention"""

from datetime import UTC, datetime
from typing import Any

from quiclens_schema.migrate import migrate
from quiclens_schema.store import DEFAULT_URL

from quiclens_api.commands.options import AsJson, KeepEvents, KeepSummaries, MaxDisk, StoreUrl, keeping
from quiclens_api.failure import DONE
from quiclens_api.opening import opened
from quiclens_api.output import answer, say
from quiclens_api.serve.retention import sweep
from quiclens_api.units import size


def retention(
    keep_events: KeepEvents = "7d",
    keep_summaries: KeepSummaries = "90d",
    max_disk_gb: MaxDisk = 0,
    store: StoreUrl = DEFAULT_URL,
    as_json: AsJson = False,
) -> int:
    """Drop days that are too old or too many, once, as `quiclens serve` does by itself.

    For a store that only `quiclens load` fills, and for a ClickHouse server: run it by timer. Where another process
    serves the store, that process does it. Days count from the day of the traces or from their loading, whichever is
    later; events go first, and the newest day stays.

    [bold]Examples[/]

    \b
    quiclens retention --keep-events 7d --keep-summaries 90d
    quiclens retention --keep-events 0 --keep-summaries 0 --max-disk-gb 200
    """
    keep = keeping(keep_events, keep_summaries, max_disk_gb)
    with opened(store) as data:
        migrate(data)
        done = sweep(data, keep, datetime.now(UTC))
    for line in done.told:
        say(line)
    document: dict[str, Any] = {
        "disk_bytes": done.disk_bytes,
        "partitions": len(done.dropped),
        "rows": sum(each.rows for each in done.dropped),
        "bytes": sum(each.bytes for each in done.dropped),
    }
    line = f"dropped {document['rows']:,} rows, {size(document['bytes'])}; {size(done.disk_bytes)} stay"
    answer(as_json, document, line)
    return DONE
