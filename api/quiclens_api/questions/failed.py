"""`failed`: connections that never became a request, by carrier, region and reason."""

from collections.abc import Sequence

from quiclens_schema.store import Store

from quiclens_api.asking import ask
from quiclens_api.questions.connections import Report, params
from quiclens_api.questions.slow import coverage
from quiclens_api.where import Where


def failed(store: Store, where: Where, texts: Sequence[str], limit: int) -> Report:
    """Most connections first; `of` is how many connections this carrier and region had in all."""
    found = ask(store, "failed", {"limit": limit}, where).rows
    rows = [list(row) for row in found if row[3] > 0]
    columns = (("carrier", ""), ("region", ""), ("reason", ""), ("connections", ""), ("of", ""))
    return Report(
        name="failed",
        params=params("", texts, limit=limit),
        columns=columns,
        rows=rows,
        samples=sum(row[3] for row in rows),
        coverage=coverage(store, where),
    )
