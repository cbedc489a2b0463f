"""`status`: is data arriving, from whom, what was rejected, how much room it takes."""

from collections import defaultdict
from datetime import datetime
from typing import Any

from quiclens_schema.store import Store

from quiclens_api.asking import ask
from quiclens_api.questions.asked import GROUPS_AT_MOST, Report
from quiclens_api.questions.slow import coverage
from quiclens_api.where import EVERYTHING

_REASONS_AT_MOST = 10_000
_COLUMNS = (
    ("server", ""),
    ("stack", ""),
    ("vantage", ""),
    ("traces", ""),
    ("events", ""),
    ("requests", ""),
    ("last_event_at", ""),
    ("lag_s", "s"),
    ("rejects", ""),
)


def status(store: Store, url: str, now: datetime) -> Report:
    """One row per server, or per stack and vantage where traces name none; what no trace explains is the last row.

    `collectors` of the params: what was made so long ago has arrived. It is never older than the time between two
    heartbeats and the freshness together where all is well.
    """
    rejects: dict[tuple[Any, ...], dict[str, int]] = defaultdict(dict)
    by_reason: dict[str, int] = defaultdict(int)
    for *who, reason, count in ask(store, "status_rejects", {"limit": _REASONS_AT_MOST}).rows:
        rejects[tuple(who)][reason] = count
        by_reason[reason] += count
    rows = []
    for *who, traces, events, requests, last in ask(store, "status_servers", {"limit": GROUPS_AT_MOST}).rows:
        lag = None if last is None else max(0, round((now - last).total_seconds()))
        rows.append([*who, traces, events, requests, last, lag, rejects.pop(tuple(who), {})])
    rows += [[*who, 0, 0, 0, None, None, counts] for who, counts in rejects.items()]
    collectors = [
        {"collector": name, "heartbeat_at": made, "heartbeat_age_s": round(max(0.0, (now - made).total_seconds()), 1)}
        for name, made in ask(store, "status_collectors", {"limit": GROUPS_AT_MOST}).rows
    ]
    whole = ask(store, "status_store").dicts()[0]
    whole["disk"] = {name: size for name, _, size in ask(store, "status_disk", {"limit": GROUPS_AT_MOST}).rows}
    whole["dropped"] = ask(store, "status_dropped", {"limit": GROUPS_AT_MOST}).dicts()
    return Report(
        name="status",
        params={"store": url, **whole, "collectors": collectors, "rejects": dict(sorted(by_reason.items()))},
        columns=_COLUMNS,
        rows=rows,
        samples=sum(row[3] for row in rows),
        coverage=coverage(store, EVERYTHING),
    )
