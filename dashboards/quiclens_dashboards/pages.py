"""The page around panels: its sentence, its choices, its links."""

from collections.abc import Iterable, Sequence

from grafana_foundation_sdk.builders import barchart, geomap, stat, table, text, timeseries, trend
from grafana_foundation_sdk.builders import dashboard as builders
from grafana_foundation_sdk.models import dashboard
from grafana_foundation_sdk.models.text import TextMode

from quiclens_dashboards import look
from quiclens_dashboards.ask import DIMENSIONS, choice, dimension

Panel = timeseries.Panel | trend.Panel | table.Panel | stat.Panel | barchart.Panel | geomap.Panel | text.Panel

_TRUST = {
    "every request": "1",
    "no damaged log": "grade != 'damaged'",
    "whole logs alone": "grade = 'whole'",
}
_QUICLENS, _QVIS = "http://127.0.0.1:8124", "https://qvis.quictools.info"  # until somebody says where they are
CHOICES = (*DIMENSIONS, "trust")
"""What our pages can be asked too: `/from-grafana` takes them."""


def page(
    uid: str, title: str, sentence: str, panels: Iterable[Panel], variables: Sequence[builders.CustomVariable] = ()
) -> builders.Dashboard:
    """A dashboard that begins with the sentence that says which question it answers."""
    made = (
        builders.Dashboard(title)
        .uid(f"quiclens-{uid}")
        .description(sentence)
        .tags(["quiclens"])
        .timezone("utc")
        .time("now-6h", "now")
        .refresh("")
        .tooltip(dashboard.DashboardCursorSync.CROSSHAIR)
        .readonly()
        .links(look.page_links(CHOICES))
        .with_variable(builders.TextBoxVariable("quiclens").label("quiclens at").default_value(_QUICLENS))
        .with_variable(builders.TextBoxVariable("qvis").label("qvis at").default_value(_QVIS))
    )
    for variable in variables:
        made.with_variable(variable)
    for name, label in DIMENSIONS.items():
        made.with_variable(dimension(name, label))
    description = "Requests whose logs lack records can be left out: their largest part may be another."
    made.with_variable(choice("trust", "Logs", description, _TRUST, "every request"))
    opening = text.Panel().title("").mode(TextMode.MARKDOWN).content(sentence).transparent(True).span(24).height(2)
    for number, panel in enumerate([opening, *panels], start=1):
        if isinstance(panel, timeseries.Panel | trend.Panel | barchart.Panel):
            every = look.points(CHOICES)
            panel.with_override(every.matcher, every.properties)
        made.with_panel(panel.id(number))
    return made


def by(*columns: str) -> builders.CustomVariable:
    """By which column the panels that say so are split."""
    description = "The column by which panels are split."
    return choice("by", "By", description, {column: column for column in columns}, columns[0])
