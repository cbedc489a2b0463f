"""The house look: units and colours by what a column is called, thresholds, and links to our pages.

A cause has the name that it has on our pages and in the terminal, and the colour that it has on a dark page: Grafana is
dark where nobody chose, and knows no second colour.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from grafana_foundation_sdk.builders import dashboard as builders
from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.models import dashboard
from grafana_foundation_sdk.models.dashboard import DynamicConfigValue as Property
from quiclens_questions.causes import LOOKS

US, SHARE, COUNT, BYTES, RATIO = "µs", "percentunit", "short", "bytes", "none"  # Grafana's names of units
PER_SECOND, BITS_PER_SECOND, DEGREES = "cps", "bps", "degree"

# What a column is called says its unit, in every panel; the last that fits counts.
_UNITS = (
    (r".*_us|(.*_)?p\d\d", US),
    (r".*_rtt_p\d\d", RATIO),
    (r".*_packets_p\d\d", COUNT),
    (r"(initial_congestion_window|bytes_in_flight)_.*|.*_bytes|bytes_dropped", BYTES),
    (r".*_share|.*_probability", SHARE),
    (r".*_ms", "dateTimeFromNow"),
    (r".*_per_second", PER_SECOND),
    (r".*_bits_per_second", BITS_PER_SECOND),
    (r"latitude|longitude", DEGREES),
)
SAME_REQUESTS = "The same requests in quiclens"
_GOOD, _FAIR, _BAD, _QUIET = "#2b8a3e", "#d9a400", "#c22f2f", "#98a4b5"  # as on our pages, and no cause's
COLOURS = {
    **{cause: look.on_dark for cause, look in LOOKS.items()},
    **{"p50": "#c6dbef", "p75": "#9ecae1", "p90": "#6baed6", "p95": "#3182bd", "p99": "#08519c", "measured": _QUIET},
    **{"quic_p50": "#9be3c9", "quic_p95": "#3fae8a", "tcp_p50": "#c9a27a", "tcp_p95": "#8c6239"},
    **{"full": _GOOD, "partial": _FAIR, "summary": "#b9a36b", "none": _QUIET},
    **{"accepted": _GOOD, "rejected": _BAD, "attempted": _FAIR, "not_attempted": _QUIET},
    **{"wrong_host": _BAD, "connection_unknown": _FAIR, "other": _QUIET, "dropped": _BAD},
    **{"forwarded": _QUIET, "forwarded_received": _GOOD, "resets_sent": _FAIR, "resets_received": _BAD},
}
_CONNECTION = "connections/${__data.fields.connection_id:percentencode}"
_LINKS = {
    "request_id": (("Why this request was slow", "${quiclens}/requests/${__data.fields.request_id:raw}"),),
    "connection_id": (
        ("This connection", f"${{quiclens}}/{_CONNECTION}"),
        ("In qvis", f"${{qvis}}/#/sequence?file=${{quiclens:percentencode}}/{_CONNECTION}.sqlog"),
    ),
}


@dataclass(frozen=True)
class Override:
    """What is set for the columns whose whole name fits a pattern."""

    pattern: str
    properties: list[Property]

    @property
    def matcher(self) -> dashboard.MatcherConfig:
        return dashboard.MatcherConfig(id_val="byRegexp", options=f"/^({self.pattern})$/")

    def is_for(self, text: str) -> bool:
        """Whether a query's text has such a column at all."""
        return re.search(rf"\b({self.pattern})\b", text) is not None


@dataclass(frozen=True)
class Steps(Builder[dashboard.ThresholdsConfig]):
    """From which values on a number has which colour."""

    edges: tuple[float, ...]
    colours: tuple[str, ...]

    def build(self) -> dashboard.ThresholdsConfig:
        steps = [
            dashboard.Threshold(edge, colour) for edge, colour in zip((None, *self.edges), self.colours, strict=True)
        ]
        return dashboard.ThresholdsConfig(mode=dashboard.ThresholdsMode.ABSOLUTE, steps=steps)


PLAIN = Steps((), (_QUIET,))
COVERAGE = Steps((0.5, 0.9), (_BAD, _FAIR, _GOOD))  # below a half, the traced say little of the rest
NONE_WANTED = Steps((1,), (_GOOD, _BAD))
_BLUES = ("#b6d4f2", "#79aee6", "#3f82d6", "#1f57a8", "#0c2f66")
MISROUTED = Steps((0.0001, 0.001, 0.01, 0.1), _BLUES)  # shares
SLOW = Steps((200_000, 500_000, 1_000_000, 2_000_000), _BLUES)  # us


def units() -> list[Override]:
    """The unit of every column whose name says one."""
    return [Override(pattern, [Property("unit", unit)]) for pattern, unit in _UNITS]


def colours(names: Iterable[str]) -> list[Override]:
    """The one colour, and for a cause the plain name, of each column that has one."""
    overrides: list[Override] = []
    for name in names:
        properties = [Property("color", {"mode": "fixed", "fixedColor": COLOURS[name]})]
        if name in LOOKS:
            properties.append(Property("displayName", LOOKS[name].name))
        overrides.append(Override(name, properties))
    return overrides


def links() -> list[Override]:
    """Where a column of identifiers leads: our page of the request or connection, qvis."""
    return [
        Override(
            column,
            [Property("links", [{"title": title, "url": url, "targetBlank": True} for title, url in targets])],
        )
        for column, targets in _LINKS.items()
    ]


def cause_cells() -> list[Override]:
    """Columns that hold a cause: its plain name in its colour."""
    mapping = {
        "type": "value",
        "options": {
            cause: {"text": look.name, "color": look.on_dark, "index": n}
            for n, (cause, look) in enumerate(LOOKS.items())
        },
    }
    coloured = [Property("mappings", [mapping]), Property("custom.cellOptions", {"type": "color-text"})]
    return [Override("top_cause|without", coloured)]


def coverage_cells() -> list[Override]:
    """Columns that hold a share of traced requests: coloured by how much can be said from it."""
    coloured = [Property("thresholds", COVERAGE.build()), Property("custom.cellOptions", {"type": "color-text"})]
    return [Override("traced_share", coloured)]


def judged(steps: Steps) -> Override:
    """The numbers of a stat panel that are good or bad."""
    return Override("traced_share|traces_with_gaps|missing|doubled", [Property("thresholds", steps.build())])


def same_requests(choices: Iterable[str]) -> str:
    """The address of our page with the requests of the dashboard's window and choices."""
    chosen = "".join(f"&${{{name}:queryparam}}" for name in choices)
    return f"${{quiclens}}/from-grafana?from=${{__from}}&to=${{__to}}{chosen}"


def points(choices: Iterable[str]) -> Override:
    """Where the points of a chart lead."""
    link = {"title": SAME_REQUESTS, "url": same_requests(choices), "targetBlank": True}
    return Override(".*", [Property("links", [link])])


def page_links(choices: Iterable[str]) -> list[Builder[dashboard.DashboardLink]]:
    """From every dashboard to the others, to our page of the same requests and to the API."""
    kept = builders.DashboardLink("Dashboards").type(dashboard.DashboardLinkType.DASHBOARDS).tags(["quiclens"])
    pages = [(SAME_REQUESTS, same_requests(choices)), ("API", "${quiclens}/api/docs")]
    return [
        kept.as_dropdown(True).include_vars(True).keep_time(True).icon("external link"),
        *(
            builders.DashboardLink(title).type(dashboard.DashboardLinkType.LINK).url(url).target_blank(True)
            for title, url in pages
        ),
    ]
