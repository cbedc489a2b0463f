"""The events of one trace, page by page, as a person searches them."""

from dataclasses import asdict, dataclass, field
from typing import Any

from quiclens_schema.store import Store

from quiclens_api.asking import ask
from quiclens_api.questions.events_around import compact

PAGE_AT_MOST = 5_000
_TIME_MAX = (1 << 63) - 1

Row = dict[str, Any]


@dataclass(frozen=True)
class Search:
    """What to look for; nothing is everything. Times in us since the trace's first record, both ends within."""

    first_seq: int = 0
    from_us: int = -_TIME_MAX
    to_us: int = _TIME_MAX
    names: tuple[str, ...] = field(default=())
    stream_id: int | None = None
    packet_number: int | None = None
    text: str = ""
    limit: int = 500


def event_log(store: Store, trace: Row, search: Search) -> Row:
    """`events`, each without the columns it has no value for, and the `next_seq` to go on from, null at the end."""
    place = {name: trace[name] for name in ("connection_id", "vantage", "trace_id")}
    asked = asdict(search) | {"names": list(search.names), "limit": search.limit + 1}
    rows = ask(store, "event_log", {**place, **asked}).dicts()
    page = [_shown(row) for row in rows[: search.limit]]
    return {**place, "events": page, "next_seq": rows[search.limit]["seq"] if len(rows) > search.limit else None}


def _shown(row: Row) -> Row:
    """One event; acknowledged numbers as [from, to], what has no column under `more` as raw JSON."""
    acked, more = [list(each) for each in row.pop("acked")], row.pop("more")
    return compact(row) | ({"acked": acked} if acked else {}) | ({"more": more} if more else {})
