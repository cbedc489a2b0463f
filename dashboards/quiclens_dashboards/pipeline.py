"""The dashboard `Pipeline`: whether data arrive, whole, and are kept."""

from grafana_foundation_sdk.builders import dashboard as builders
from grafana_foundation_sdk.builders import stat, table, timeseries

from quiclens_dashboards import look, pages, panels

_SENTENCE = (
    "**Does everything arrive, whole and in time, and is it kept?** What the store itself knows of its data; lag "
    "and spool are metrics of ingest and of the collectors."
)
_QUERIES = "pipeline"


def page() -> builders.Dashboard:
    return pages.page(
        "pipeline",
        "Pipeline",
        _SENTENCE,
        [
            panels.coverage(),
            freshness(),
            coverage_over_time(),
            rejects(),
            servers(),
            links(),
            collectors(),
            audit(),
            audit_gaps(),
            kept(),
            dropped_days(),
            disk(),
        ],
    )


def freshness() -> stat.Panel:
    description = (
        "When the newest request and the newest trace of the window began. A request is here once its hour was linked."
    )
    return panels.numbers("Newest data", f"{_QUERIES}/freshness", description)


def coverage_over_time() -> timeseries.Panel:
    description = (
        "Requests by trace: all its events kept (full), cut (partial), events not kept (summary), no trace (none)."
    )
    series = ["full", "partial", "summary", "none"]
    return panels.over_time(
        "Coverage", f"{_QUERIES}/coverage_over_time", look.COUNT, description, series=series, is_stacked=True
    )


def rejects() -> timeseries.Panel:
    description = (
        "What could not become a row, by reason, at the time it was stored; its bytes are in the table rejects."
    )
    panel = panels.over_time("Rejects", f"{_QUERIES}/rejects", look.COUNT, description, is_stacked=True)
    return panels.by_label(panel, "reason")


def servers() -> table.Panel:
    description = (
        "Servers by their last event, longest silent first, and the probabilities with which events and traces "
        "are kept."
    )
    return panels.rows("Servers", f"{_QUERIES}/servers", description)


def links() -> table.Panel:
    description = "Where requests come from, how lines and streams were linked, and the share with a trace."
    return panels.rows("Links", f"{_QUERIES}/links", description, is_wide=False)


def collectors() -> table.Panel:
    description = "Each collector's last heartbeat that can be queried, oldest first, of the last seven days."
    return panels.rows("Collectors", f"{_QUERIES}/collectors", description, is_wide=False)


def audit() -> stat.Panel:
    description = (
        "Records that are missing or stand twice, in 200 traces of the window whose events were kept; `quiclens "
        "audit` checks all."
    )
    return panels.numbers("Audit of a sample", f"{_QUERIES}/audit", description, thresholds=look.NONE_WANTED)


def audit_gaps() -> table.Panel:
    description = "The traces of that sample that have gaps. No rows is as it should be."
    return panels.rows("Gaps", f"{_QUERIES}/audit_gaps", description, is_wide=False)


def kept() -> table.Panel:
    description = "Events that should be stored, day by day, and rows that are: more until copies merge, fewer never."
    return panels.rows("Events by day", f"{_QUERIES}/kept", description)


def dropped_days() -> table.Panel:
    description = "Days that retention dropped, by table and reason, ever since."
    return panels.rows("Dropped days", f"{_QUERIES}/dropped_days", description, is_wide=False)


def disk() -> table.Panel:
    description = "Rows and bytes of each table now."
    return panels.rows("Disk", f"{_QUERIES}/disk", description, is_wide=False)
