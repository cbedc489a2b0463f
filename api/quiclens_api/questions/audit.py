"""`audit`: any seq that is missing or stands twice, of every trace whose events were kept."""

from typing import Any

from quiclens_schema.store import Store

from quiclens_api.asking import ask
from quiclens_api.questions.asked import Report
from quiclens_api.questions.slow import coverage
from quiclens_api.where import EVERYTHING

_TRACES_AT_MOST = 100_000_000
_COLUMNS = (
    ("connection_id", ""),
    ("vantage", ""),
    ("trace_id", ""),
    ("server", ""),
    ("problem", ""),
    ("first_seq", ""),
    ("last_seq", ""),
    ("records", ""),
)


def audit(store: Store, limit: int) -> Report:
    """One row per run of records, the worst traces first; `samples` is how many traces were looked at."""
    traces = ask(store, "audit", {"limit": _TRACES_AT_MOST}).dicts()
    rows: list[list[Any]] = []
    for trace in traces:
        if not (trace["missing"] or trace["doubled"]) or len(rows) >= limit:
            break  # the worst come first
        who = {name: trace[name] for name in ("connection_id", "vantage", "trace_id")}
        asked = {**who, "records": trace["records"], "limit": limit - len(rows)}
        for problem, first, last in ask(store, "audit_ranges", asked).rows:
            rows.append([*who.values(), trace["server"], problem, first, last, last - first + 1])
    return Report(
        name="audit",
        params={
            "limit": limit,
            "events": sum(trace["events_seen"] for trace in traces),
            "missing": sum(trace["missing"] for trace in traces),
            "doubled": sum(trace["doubled"] for trace in traces),
        },
        columns=_COLUMNS,
        rows=rows,
        samples=len(traces),
        coverage=coverage(store, EVERYTHING),
    )
