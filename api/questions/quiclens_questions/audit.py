"""`audit`: any seq that is missing or stands twice, of every trace whose events were kept."""

from collections.abc import Callable
from typing import Any

from quiclens_schema.store import Store

from quiclens_questions.report import Report
from quiclens_questions.slow import report_coverage
from quiclens_questions.statements import ask
from quiclens_questions.where import EVERYTHING

_WHO = ("connection_id", "vantage", "trace_id")
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


def audit(store: Store, limit: int, settle: Callable[[], None] | None = None) -> Report:
    """One row per run of records, the worst traces first; `samples` is how many traces were looked at.

    A connection may be stored a moment before its events. Where others write to the store, `settle` waits, and only
    what is missing before and after it, of the records that there were before, is missing.
    """
    traces = _traces(store)
    found = {key: trace for key, trace in traces.items() if trace["missing"] or trace["doubled"]}
    if settle is not None and any(trace["missing"] for trace in found.values()):
        settle()
        again = _traces(store)
        for key, trace in list(found.items()):
            later = again.get(key, trace)
            trace["missing"] = min(trace["missing"], later["missing"])
            if not (trace["missing"] or trace["doubled"]):
                del found[key]
    rows: list[list[Any]] = []
    for key, trace in list(found.items()):  # the worst come first
        if len(rows) >= limit:
            break
        who = dict(zip(_WHO, key, strict=True))
        asked = {**who, "records": trace["records"], "limit": limit - len(rows)}
        ranges = ask(store, "audit_ranges", asked).rows
        if not ranges:  # what was missing has come meanwhile, what is missing now was made meanwhile
            del found[key]
        rows += [[*key, trace["server"], problem, first, last, last - first + 1] for problem, first, last in ranges]
    (dropped,) = ask(store, "audit_dropped").one()
    return Report(
        name="audit",
        params={
            "limit": limit,
            "events": sum(trace["events_seen"] for trace in traces.values()),
            "missing": sum(trace["missing"] for trace in found.values()),
            "doubled": sum(trace["doubled"] for trace in found.values()),
            "traces_dropped": dropped,
        },
        columns=_COLUMNS,
        rows=rows,
        samples=len(traces),
        coverage=report_coverage(store, EVERYTHING),
    )


def _traces(store: Store) -> dict[tuple[str, ...], dict[str, Any]]:
    """Every trace whose events were kept, by what it is known by, the worst first."""
    found = ask(store, "audit").dicts()
    return {tuple(trace[name] for name in _WHO): trace for trace in found}
