"""`status` as one screen: what works and what to do, who sends, what is behind, rejected or dropped, how much room."""

from collections.abc import Iterator
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from quiclens_command_line.show.reports_of_connections import plain_view
from quiclens_command_line.show.tables import of_printable
from quiclens_questions.report import Report
from quiclens_questions.units import size

_TABLES_SHOWN = 3
_COLOURS = {"works": "green", "look": "yellow", "fails": "red", "unknown": "dim"}


@of_printable
def status_view(report: Report) -> Iterator[RenderableType]:
    about = report.params
    for check in about["checks"]:
        yield Text.assemble((f"● {check['name']:<11}", _COLOURS[check["state"]]), check["says"])
    yield Text()
    yield from plain_view(report, "Who sends", "Nothing was loaded yet.")
    if report.groups and report.groups_shown and report.groups > report.groups_shown:
        words = f"{report.groups_shown:,} of {report.groups:,} are shown, by name; what is said above them is of all"
        yield Text(words, style="yellow")
    for name, text, style in _facts(about):
        yield Text.assemble((f"{name:<10}", "dim"), (text, style))
    for step in about["next_steps"]:
        yield Text.assemble((f"{'next':<10}", "bold"), step)


def _facts(about: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    yield "store", f"{about['store']}, schema {about['schema_version']}", ""
    if served := about.get("served"):
        held = f"confined by Landlock {served['landlock']}" if served["landlock"] else "not confined: its log says why"
        yield "served", f"{served['url']}, process {served['pid']}, {held}", "" if served["landlock"] else "yellow"
    disk = list(about["disk"].items())
    largest = ", ".join(f"{name} {size(taken)}" for name, taken in disk[:_TABLES_SHOWN])
    yield "on disk", size(about["disk_bytes"] or 0) + (f" ({largest} …)" if disk else ""), ""
    yield "lines", f"{about['request_lines']:,} of access logs", ""
    if about["rejects"]:
        yield "rejected", ", ".join(f"{reason} {count:,}" for reason, count in about["rejects"].items()), "yellow"
    else:
        yield "rejected", "nothing", ""
    for each in about["dropped"]:
        what = f"{each['table_name']}: {each['days']:,} days up to {each['last_day']}, {each['rows_dropped']:,} rows"
        yield "dropped", f"{what}, {size(each['bytes_dropped'])}; for {each['why']}", ""
    if about["lag"] is not None:
        behind = {topic: count for topic, count in about["lag"].items() if count}
        told = ", ".join(f"{topic} {count:,}" for topic, count in behind.items())
        yield "to store", f"{sum(behind.values()):,} messages" + (f" ({told})" if told else ""), ""
    if (fresh := about["freshness"]) is not None:
        if fresh["heartbeats"]:
            bounds = "".join(
                f", {name[:3]} ≤ {fresh[name]:g} s" for name in ("p50_at_most_s", "p99_at_most_s") if fresh[name]
            )
            yield "freshness", f"last {fresh['last_s']:.2f} s{bounds}, of {fresh['heartbeats']:,} heartbeats", ""
        else:
            yield "freshness", "no heartbeat has come", "yellow"
