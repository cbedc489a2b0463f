"""The dashboard `Map`: where clients wait long, by H3 hexagon and carrier."""

from grafana_foundation_sdk.builders import dashboard as builders
from grafana_foundation_sdk.builders import geomap, table

from quiclens_dashboards import look, pages, panels

_SENTENCE = (
    "**Where are requests slow, and is it the place or the carrier?** Requests by the H3 hexagon of their client; "
    "choose a carrier, or compare carriers in one hexagon below."
)
_QUERIES = "hexagons"


def page() -> builders.Dashboard:
    return pages.page("hexagons", "Map", _SENTENCE, [panels.coverage(), on_map(), by_carrier(), cells()])


def on_map() -> geomap.Panel:
    description = (
        "p95 of each hexagon with at least 20 measured requests, at its middle; larger where there are more requests. "
        "The background comes from where Grafana takes its default one."
    )
    return panels.on_map("p95 by hexagon", f"{_QUERIES}/at", description, colour="p95", size="requests")


def by_carrier() -> table.Panel:
    description = (
        "p95 of a carrier in a hexagon, where at least 20 requests were measured: the 12 carriers and 40 hexagons with "
        "most requests."
    )
    return panels.matrix(
        "p95 by hexagon and carrier",
        f"{_QUERIES}/by_carrier",
        look.US,
        description,
        row="h3_cell",
        column="carrier",
        value="p95",
    )


def cells() -> table.Panel:
    description = (
        "Hexagons and carriers with their numbers of requests, the largest p95 first; p50 is empty below 4, p95 below "
        "20 measured requests."
    )
    return panels.rows("Hexagons and carriers", f"{_QUERIES}/cells", description)
