"""`status`: is data arriving, from whom, what was rejected, how much room it takes, and what to do about it."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from quiclens_schema.store import Store

from quiclens_questions.moment import bound, seconds_ago
from quiclens_questions.report import GROUPS_AT_MOST, Report
from quiclens_questions.slow import report_coverage
from quiclens_questions.statements import ask
from quiclens_questions.where import EVERYTHING
from quiclens_questions.working import EXPECTED_S, RECENT_S, Observations, Recent, checks, next_steps

_REASONS_AT_MOST = 1_000_000
_SERVERS_AT_MOST = 100_000
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
    ("values_unread", ""),
)


def status(store: Store, url: str, now: datetime, expected: Sequence[str] = ()) -> Report:
    """One row per server, or per stack and vantage where traces name none; what no trace explains is the last row.
    Of more than `GROUPS_AT_MOST` the first have rows, and `groups` says how many there are; all are in what is checked.

    `checks` of the params: each part of the way from a server to an answer, whether it works and what to do;
    `next_steps` are those of the parts that do not. `expected` are servers that must be there, heard of or not.
    `collectors`: what was made so long ago has arrived. It is never older than the time between two
    heartbeats and the freshness together where all is well.
    """
    rejects: dict[tuple[Any, ...], dict[str, int]] = defaultdict(dict)
    by_reason: dict[str, int] = defaultdict(int)
    for *who, reason, count in ask(store, "status_rejects", {"limit": _REASONS_AT_MOST}).rows:
        rejects[tuple(who)][reason] = count
        by_reason[reason] += count
    rows, heard = [], []
    servers = ask(store, "status_servers", {"limit": _SERVERS_AT_MOST}).rows
    for *who, traces, events, requests, unread, last in servers:
        lag = None if last is None else seconds_ago(last, now)
        heard.append((who[0], last))
        rows.append([*who, traces, events, requests, last, lag, rejects.pop(tuple(who), {}), unread])
    rows += [[*who, 0, 0, 0, None, None, counts, 0] for who, counts in rejects.items()]
    collectors = [
        {"collector": name, "heartbeat_at": made, "heartbeat_age_s": round(max(0.0, (now - made).total_seconds()), 1)}
        for name, made in ask(store, "status_collectors", {"limit": _SERVERS_AT_MOST}).rows
    ]
    found = checks(_seen(store, now, expected, heard, collectors))
    whole = ask(store, "status_store").dicts()[0]
    whole["disk"] = {name: size for name, _, size in ask(store, "status_disk", {"limit": GROUPS_AT_MOST}).rows}
    whole["dropped"] = ask(store, "status_dropped", {"limit": GROUPS_AT_MOST}).dicts()
    return Report(
        name="status",
        params={
            "store": url,
            **whole,
            "collectors": collectors,
            "rejects": dict(sorted(by_reason.items())),
            "checks": [each.document() for each in found],
            "next_steps": next_steps(found),
        },
        columns=_COLUMNS,
        rows=rows[:GROUPS_AT_MOST],
        samples=sum(row[3] for row in rows),
        groups=len(rows),
        groups_shown=min(len(rows), GROUPS_AT_MOST),
        coverage=report_coverage(store, EVERYTHING),
    )


def _seen(
    store: Store,
    now: datetime,
    expected: Sequence[str],
    heard: list[tuple[str | None, datetime | None]],
    collectors: list[dict[str, Any]],
) -> Observations:
    """What the last day and the last hour have, beside when traces of each server were `heard` of last; the cost is
    theirs, not the store's."""
    recent = {"since": bound(now - timedelta(seconds=RECENT_S))}
    day = {"since": bound(now - timedelta(seconds=EXPECTED_S)), "limit": _SERVERS_AT_MOST}
    servers: dict[str, datetime] = {}
    of_requests = ask(store, "working_servers", day).rows
    for name, at in (*heard, *of_requests):
        if name is not None and at is not None:
            servers[name] = max(at, servers.get(name, at))
    rejects = ask(store, "working_rejects", {**recent, "limit": _REASONS_AT_MOST}).rows
    return Observations(
        now=now,
        servers=servers,
        are_cut=len(of_requests) >= _SERVERS_AT_MOST,
        named=tuple(expected),
        heartbeats={each["collector"]: each["heartbeat_age_s"] for each in collectors},
        last_event=max((*(at for _, at in heard if at is not None), *servers.values()), default=None),
        recent=Recent(**ask(store, "working_requests", recent).dicts()[0]),
        rejects={reason: count for reason, count, _ in rejects},
        rejected_file=rejects[0][2] if rejects else "",
    )
