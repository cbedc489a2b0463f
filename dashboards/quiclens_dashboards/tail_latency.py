"""The dashboard `Tail latency`: where and when requests are slow, whatever the cause."""

from grafana_foundation_sdk.builders import dashboard as builders
from grafana_foundation_sdk.builders import stat, table, timeseries

from quiclens_dashboards import look, pages, panels
from quiclens_dashboards.ask import choice

_SENTENCE = (
    "**Where and when are requests slow?** Durations of all requests, with a trace or without one, as the server "
    "logged or its trace measured them."
)
_QUANTILES = {"p50": "0.5", "p75": "0.75", "p90": "0.9", "p95": "0.95", "p99": "0.99"}


def page() -> builders.Dashboard:
    return pages.page(
        "tail-latency",
        "Tail latency",
        _SENTENCE,
        [
            panels.coverage(),
            measured(),
            over_time(),
            by_value(),
            week(),
            worst_cells(),
            protocols(),
            protocols_by_value(),
            rtt_by_protocol(),
        ],
        [
            pages.by("carrier", "region", "city", "pop", "network_type", "protocol", "app_version"),
            choice("quantile", "Quantile", "The quantile of panels that show only one.", _QUANTILES, "p95"),
        ],
    )


def measured() -> stat.Panel:
    description = "Quantiles of all measured requests of the window: they ended, and their duration is known."
    return panels.numbers("Durations", "tail_latency/measured", description)


def over_time() -> timeseries.Panel:
    description = (
        "Quantiles of the durations of the requests that began in each stretch of time. Each is the duration of a "
        "request; a line has a gap where too few were measured for it: 4 for p75, 10 for p90, 20 for p95, 100 for p99."
    )
    series = [*_QUANTILES, "measured"]
    return panels.counted(panels.over_time("Durations", "tail_latency/over_time", look.US, description, series=series))


def by_value() -> timeseries.Panel:
    description = (
        "The chosen quantile for the ten most frequent values of the chosen column, where enough were measured."
    )
    return panels.by_label(
        panels.over_time("${quantile:text} by ${by}", "tail_latency/by_value", look.US, description), "by_value"
    )


def week() -> table.Panel:
    description = (
        "p95 by day of the week and hour of the day, UTC; empty below 20 requests. Choose a window of a week or more."
    )
    return panels.matrix(
        "p95 by day and hour", "tail_latency/week", look.US, description, row="day", column="hour", value="p95"
    )


def worst_cells() -> table.Panel:
    description = "Carrier, region and city with the largest p95, among those with at least 20 measured requests."
    return panels.rows("Worst cells", "tail_latency/worst_cells", description)


def protocols() -> timeseries.Panel:
    description = (
        "HTTP/3 beside HTTP/2 and HTTP/1.1. Clients that have QUIC differ from those that fell back to TCP, "
        "so that the difference is not what QUIC would do for the others."
    )
    series = ["quic_p50", "quic_p95", "tcp_p50", "tcp_p95"]
    return panels.over_time("QUIC and TCP", "tail_latency/protocols_over_time", look.US, description, series=series)


def protocols_by_value() -> table.Panel:
    description = (
        "As above, by the chosen column, with the numbers of measured requests; p95 is empty below 20 of them."
    )
    return panels.rows("QUIC and TCP by ${by}", "tail_latency/protocols_by_value", description, is_wide=False)


def rtt_by_protocol() -> table.Panel:
    description = (
        "The smoothed round trip when a request ended: as traced over QUIC, as the server logged it over TCP; p95 is "
        "empty below 20. Where the round trips differ the clients do, and their durations differ by that too. "
        "TCP's window is in packets; `tcp_loss_outstanding_share` is the share of requests at whose end packets of "
        "their connection were lost and not yet repaired."
    )
    return panels.rows("Round trips by protocol", "tail_latency/rtt_by_protocol", description, is_wide=False)
