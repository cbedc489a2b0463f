"""`report restarts`: what restarts of servers cost, as Facebook drew it (2018): packets that the new process forwards
to the old, those that arrive there, those that are dropped, and stateless resets.

These are counts of what hosts logged, no samples of anything, so that they have no interval.
"""

from typing import Any

from quiclens_schema.store import Store

from quiclens_questions.hosts import BEGAN_AT
from quiclens_questions.report import GROUPS_AT_MOST, Report, ReportQuestion
from quiclens_questions.slow import report_coverage
from quiclens_questions.statements import ask, together

_EACH = ("server", "cluster", "server_release", BEGAN_AT)
_COUNTS = ("received", "forwarded", "forwarded_received")
_AFTER = ("dropped", "connection_unknown", "resets_sent")


def restarts(store: Store, asked: ReportQuestion) -> Report:
    """One row per restart, or per group of them: packets from a minute before the new process took over to five minutes
    after. `took_us` is how long the old one went on, of several restarts the longest; `hop_lost_share` of the forwarded
    packets was lost on the way from the one to the other."""
    by = asked.by or _EACH
    given = {**asked.window, "by": list(by), "limit": GROUPS_AT_MOST}
    rows, coverage = together(
        lambda: ask(store, "restarts", given, asked.where).dicts(),
        lambda: report_coverage(store, asked.where, asked.window),
    )
    counts = [(name, "") for name in _COUNTS]
    after = [(name, "") for name in _AFTER]
    return Report(
        name="restarts",
        params=asked.params | {"by": list(by)},
        columns=(
            *((name, "") for name in by),
            ("restarts", ""),
            ("took_us", "us"),
            *counts,
            ("hop_lost_share", "share"),
            *after,
        ),
        rows=[_cells(row) for row in rows],
        samples=int(rows[0]["all_restarts"]) if rows else 0,
        coverage=coverage,
        groups=int(rows[0]["groups_in_all"]) if rows else 0,
        groups_shown=len(rows),
    )


def _cells(row: dict[str, Any]) -> list[Any]:
    before = [*row["by_values"], int(row["restarts"]), row["took_us"], *(int(row[name]) for name in _COUNTS)]
    return [*before, row["hop_lost_share"], *(int(row[name]) for name in _AFTER)]
