"""The dashboard `Why slow`: what the time of slow requests was spent on."""

from grafana_foundation_sdk.builders import barchart, stat, table, timeseries
from grafana_foundation_sdk.builders import dashboard as builders
from quiclens_schema.catalogue import CAUSES

from quiclens_dashboards import look, pages, panels
from quiclens_dashboards.ask import choice

_SENTENCE = (
    "**Why are the slow requests slow?** The time of the slowest requests, split into causes that add up; only "
    "requests with a trace have causes."
)
_SLOW = {"slowest 10 %": "0.9", "slowest 5 %": "0.95", "slowest 1 %": "0.99"}


def page() -> builders.Dashboard:
    return pages.page(
        "why-slow",
        "Why slow",
        _SENTENCE,
        [panels.coverage(), slow(), causes_over_time(), causes_by_value(), slow_by_value(), without(), slowest()],
        [
            pages.by("carrier", "region", "city", "pop", "network_type", "app_version"),
            choice(
                "slow", "Slow are the", "Which requests are slow: the slowest ones of the window.", _SLOW, "slowest 5 %"
            ),
        ],
    )


def slow() -> stat.Panel:
    description = (
        "How many requests are slow, how many of them have a trace, and from which duration on a request is slow."
    )
    return panels.numbers("Slow requests", "why_slow/slow", description, thresholds=look.COVERAGE)


def causes_over_time() -> timeseries.Panel:
    description = (
        "Each cause's share of the time of the slow requests that began then and have a trace; coverage as above."
    )
    panel = panels.over_time(
        "Causes", "why_slow/causes_over_time", look.SHARE, description, series=CAUSES, is_stacked=True
    )
    return panel.max(1).height(16)


def causes_by_value() -> barchart.Panel:
    description = "Each cause's share of the time of the slow requests that have a trace; coverage in the table below."
    return panels.cause_bars("Causes by ${by}", "why_slow/causes_by_value", description, x="by_value")


def slow_by_value() -> table.Panel:
    description = (
        "Slow requests, how many of them have a trace, and the cause that was the largest for most of the time."
    )
    return panels.rows("Slow requests by ${by}", "why_slow/slow_by_value", description, is_wide=False)


def without() -> table.Panel:
    description = (
        "p99 of all traced requests, and what it would be if no request had lost time to one cause: each request's "
        "predicted saving is taken off. As `quiclens report tail --without`, which has intervals too. "
        "cannot_show: requests without a trace, or whose log could not have shown the cause; they are left out."
    )
    return panels.rows("p99 without a cause", "why_slow/without", description, is_wide=False)


def slowest() -> table.Panel:
    description = "The slowest requests; coverage none has no trace, and so no cause. Identifiers lead to our pages."
    return panels.rows("Slowest requests", "why_slow/slowest", description)
