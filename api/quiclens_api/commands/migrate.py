"""quiclens migrate"""

from typing import Any

from quiclens_ingest.link import link
from quiclens_schema import migrate as migrations
from quiclens_schema.store import DEFAULT_URL, without_password

from quiclens_api.commands.options import AsJson, StoreUrl
from quiclens_api.failure import DONE
from quiclens_api.opening import opened
from quiclens_api.output import answer


def migrate(store: StoreUrl = DEFAULT_URL, as_json: AsJson = False) -> int:
    """Bring the store's tables to this version; `load` does it by itself.

    Links every hour again where something changed. Nothing happens the second time, and nothing is ever dropped.

    [bold]Examples[/]

    \b
    quiclens migrate
    quiclens migrate --store http://clickhouse.example:8123/quiclens
    """
    with opened(store, create=True) as data:
        applied = migrations.migrate(data)
        if applied:
            link(data)  # a migration may have given `requests` columns that only linking fills
    shown = without_password(store)
    document: dict[str, Any] = {"store": shown, "applied": list(applied)}
    answer(as_json, document, f"{shown}: {', '.join(applied) if applied else 'up to date'}")
    return DONE
