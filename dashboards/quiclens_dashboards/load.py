"""The dashboard `Load`: how much there is to do, by the size of answers."""

from grafana_foundation_sdk.builders import dashboard as builders
from grafana_foundation_sdk.builders import stat, table, timeseries

from quiclens_dashboards import look, pages, panels

_SENTENCE = (
    "**How much is asked of the servers?** Requests, new connections and bits a second, at the time at which they "
    "began; sampled ones stand for those that were not kept."
)
_QUERIES = "load"


def page() -> builders.Dashboard:
    return pages.page(
        "load",
        "Load",
        _SENTENCE,
        [
            panels.coverage(),
            rates(),
            requests(),
            bits(),
            new_connections(),
            sizes(),
            by_value(),
        ],
        [pages.by("server", "cluster", "pop", "carrier", "region", "network_type", "protocol", "app_version")],
    )


def rates() -> stat.Panel:
    description = "Means over the whole window; connections are those with a trace."
    return panels.numbers("Rates", f"{_QUERIES}/rates", description)


def requests() -> timeseries.Panel:
    description = "Requests a second by the size of their response."
    panel = panels.over_time(
        "Requests by response size", f"{_QUERIES}/requests", look.PER_SECOND, description, is_stacked=True
    )
    return panels.by_label(panel, "size")


def bits() -> timeseries.Panel:
    description = "Bits of responses and of request bodies a second, each counted when its request began."
    return panels.over_time("Bits", f"{_QUERIES}/bits", look.BITS_PER_SECOND, description)


def new_connections() -> timeseries.Panel:
    description = "Connections that began, a second, of those with a trace; and of these the ones with 0-RTT data."
    return panels.over_time("New connections", f"{_QUERIES}/new_connections", look.PER_SECOND, description)


def sizes() -> table.Panel:
    description = (
        "The same classes over the whole window: rates, and how long their requests took (p50 is empty below 4, p95 "
        "below 20 measured)."
    )
    return panels.rows("Response sizes", f"{_QUERIES}/sizes", description)


def by_value() -> table.Panel:
    description = "Rates over the whole window by the chosen column, and in the busiest minute."
    return panels.rows("Load by ${by}", f"{_QUERIES}/by_value", description)
