"""`report misrouted`: packets that landed on another host than their connection ID names, as Facebook told them (2018).

These are counts of what hosts logged, no samples of anything, so that they have no interval.
"""

from quiclens_schema.store import Store

from quiclens_questions.report import GROUPS_AT_MOST, Report, ReportQuestion
from quiclens_questions.slow import report_coverage
from quiclens_questions.statements import ask, together


def misrouted(store: Store, asked: ReportQuestion) -> Report:
    """One row per place where packets landed and place that they were meant for (clusters where nothing else is asked
    for). Landed and meant for one cluster: another host of it."""
    by = asked.by or ("cluster",)
    given = {**asked.window, "by": list(by), "limit": GROUPS_AT_MOST}
    rows, counted, coverage = together(
        lambda: ask(store, "misrouted", given, asked.where).dicts(),
        lambda: ask(store, "host_packets", asked.window, asked.where).dicts()[0],
        lambda: report_coverage(store, asked.where, asked.window),
    )
    coverage["hosts"] = int(counted["hosts"])
    coverage["packets_received"] = int(counted["received"])
    coverage["packets_wrong_host"] = int(counted["wrong_host"])
    coverage["packets_connection_unknown"] = int(counted["connection_unknown"])
    coverage["packets_dropped_otherwise"] = int(counted["dropped_otherwise"])
    places = [(f"{way}_{name}", "") for way in ("landed", "meant") for name in by]
    return Report(
        name="misrouted",
        params=asked.params | {"by": list(by)},
        columns=(*places, ("packets", ""), ("misrouted_share", "share"), ("first_at", ""), ("last_at", "")),
        rows=[
            [
                *row["landed"],
                *row["meant"],
                int(row["packets"]),
                row["misrouted_share"],
                row["first_at"],
                row["last_at"],
            ]
            for row in rows
        ],
        samples=int(rows[0]["all_packets"]) if rows else 0,
        coverage=coverage,
        groups=int(rows[0]["ways"]) if rows else 0,
        groups_shown=len(rows),
    )
