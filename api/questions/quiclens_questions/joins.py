"""By what the lines of a mapping can find their traces, told from some of the newest of them."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from quiclens_questions.documents import JoinsDocument

_TCP = ("h1", "h2")
_BY_ID = ("connection_id", "stream_id")
_BY_CLIENT = ("client_key", "method", "path", "duration_us")
_WHY = {
    "connection_id": "the QUIC connection's id, as the server's trace names it",
    "stream_id": "the stream's id",
    "client_key": "client_address and client_port, and the collectors' secret (QUICLENS_CLIENT_SECRET)",
    "method": "the method",
    "path": "the path",
    "duration_us": "the duration, where the time is the request's end",
}


def joins(
    source: str,
    rows: Iterable[Mapping[str, Any]],
    looked_at: int,
    rejected: Mapping[str, int],
    rejected_text: str,
    without_time: int,
) -> JoinsDocument:
    """`rows` are those of `request_lines` that the lines looked at became."""
    counts, filled, lacks = Counter[str](), Counter[str](), Counter[str]()
    for row in rows:
        has = {name for name, value in row.items() if value not in (None, "", [])}
        filled.update(has)
        missing = {
            "id": [name for name in _BY_ID if name not in has],
            "client": [
                name
                for name in _BY_CLIENT
                if name not in has and not (name == "duration_us" and row["time_is"] == "start")
            ],
        }
        way = (
            "tcp"
            if row.get("protocol") in _TCP
            else next((way for way, lack in missing.items() if not lack), "neither")
        )
        counts[way] += 1
        if way == "neither":
            lacks.update({*missing["id"], *missing["client"]})
    return {
        "source": source,
        "looked_at": looked_at,
        "lines": counts.total(),
        "by_id": counts["id"],
        "by_client": counts["client"],
        "over_tcp": counts["tcp"],
        "neither": counts["neither"],
        "lacks": {name: lacks[name] for name in (*_BY_ID, *_BY_CLIENT) if lacks[name]},
        "filled": dict(filled.most_common()),
        "rejected": dict(rejected),
        "rejected_text": rejected_text,
        "without_time": without_time,
    }


def why(column: str) -> str:
    """What a mapping must name for a column, in words."""
    return _WHY[column]
