"""quiclens status"""

from datetime import UTC, datetime

from quiclens_schema.store import DEFAULT_URL, without_password
from rich.text import Text

from quiclens_api.commands.options import AsJson, StoreUrl
from quiclens_api.failure import DONE, NOTHING_FOUND
from quiclens_api.opening import opened
from quiclens_api.output import answer
from quiclens_api.questions.status import status as ask_status
from quiclens_api.show.report import plain_view
from quiclens_api.units import size


def status(store: StoreUrl = DEFAULT_URL, as_json: AsJson = False) -> int:
    """Show whether data arrive: traces, last event and rejects per server, and the room they take.

    [bold]Examples[/]

    \b
    quiclens status
    quiclens status --store http://clickhouse.example:8123/quiclens --json
    """
    with opened(store) as data:
        found = ask_status(data, without_password(store), datetime.now(UTC))
    about = found.params
    line = f"store {without_password(store)}, schema {about['schema_version']}, {size(about['disk_bytes'])} on disk, "
    line += f"{about['request_lines']:,} access log lines"
    view = plain_view(found, "Who sends", "Nothing was loaded yet.")
    answer(as_json, found.document(), *view, Text(line, style="dim"))
    return DONE if found.rows else NOTHING_FOUND
