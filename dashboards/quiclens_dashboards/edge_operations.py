"""The dashboard `Edge operations`: where packets land, what restarts cost, and who comes by QUIC at all."""

from grafana_foundation_sdk.builders import dashboard as builders
from grafana_foundation_sdk.builders import stat, table, timeseries, trend

from quiclens_dashboards import look, pages, panels

_SENTENCE = (
    "**Do packets reach their host, do restarts lose any, and do clients come by QUIC?** Hosts and apps say so in logs "
    "of their own (`host:…`, `client:…`); panels of hosts follow the point of presence and no other choice."
)
_QUERIES = "edge_operations"


def page() -> builders.Dashboard:
    return pages.page(
        "edge-operations",
        "Edge operations",
        _SENTENCE,
        [
            panels.coverage(),
            hosts(),
            dropped(),
            misrouted(),
            wrong_host(),
            around_restarts(),
            resets(),
            restarts(),
            quic_use(),
            quic_use_by_value(),
            without_quic(),
            happy_eyeballs(),
            races(),
            closes(),
        ],
        [pages.by("carrier", "region", "city", "pop", "network_type", "app_version")],
    )


def hosts() -> stat.Panel:
    description = (
        "Hosts with a log, packets that they received, and shares of those that landed on the wrong host or whose "
        "connection was unknown there."
    )
    return panels.numbers("Packets at hosts", f"{_QUERIES}/hosts", description)


def dropped() -> timeseries.Panel:
    description = (
        "Packets that no connection took. wrong_host: the connection ID names another host, so they were misrouted; "
        "connection_unknown: it names this one, and the connection is over, which no routing mends."
    )
    series = ["wrong_host", "connection_unknown", "other"]
    return panels.over_time("Dropped at hosts", f"{_QUERIES}/dropped", look.COUNT, description, series=series)


def misrouted() -> table.Panel:
    description = (
        "Share of the packets meant for a cluster (columns, by the host id in the connection ID) that landed on a "
        "wrong host, by the cluster where they landed (rows); on the diagonal another host of the right "
        "cluster. Needs counts of received packets."
    )
    return panels.matrix(
        "Misrouted packets by cluster",
        f"{_QUERIES}/misrouted",
        look.SHARE,
        description,
        row="landed_in",
        column="meant_for",
        value="misrouted_share",
        steps=look.MISROUTED,
    )


def wrong_host() -> table.Panel:
    description = (
        "Pairs of the host where packets landed (server) and the one that their connection ID names (id_…), decoded by "
        "mvfst's layouts; unknown where no log has that host id."
    )
    return panels.rows("Packets on the wrong host", f"{_QUERIES}/wrong_host", description)


def around_restarts() -> trend.Panel:
    description = (
        "Packets in ten seconds, counted from when the new process took over (0), all restarts of the window together. "
        "forwarded less forwarded_received was lost between the processes."
    )
    series = ["forwarded", "forwarded_received", "dropped", "connection_unknown"]
    return panels.since(
        "Around restarts",
        f"{_QUERIES}/around_restarts",
        look.COUNT,
        description,
        x="since_start_us",
        series=series,
    )


def resets() -> timeseries.Panel:
    description = (
        "Stateless resets that hosts say they sent, and connections whose client's trace ends with one: those are as "
        "many as clients have traces."
    )
    series = ["resets_sent", "resets_received"]
    return panels.over_time("Stateless resets", f"{_QUERIES}/resets", look.COUNT, description, series=series)


def restarts() -> table.Panel:
    description = (
        "Each restart: how long the old process went on, packets within five minutes, the share lost on the way from "
        "the new process to the old, drops because they could not be forwarded, and stateless resets after it began."
    )
    return panels.rows("Restarts", f"{_QUERIES}/restarts", description)


def quic_use() -> timeseries.Panel:
    description = (
        "Share of requests that came by QUIC, of those whose protocol is known, for the ten most frequent values of "
        "the chosen column; a gap below 20 requests."
    )
    panel = panels.over_time("QUIC use by ${by}", f"{_QUERIES}/quic_use", look.SHARE, description)
    return panels.by_label(panel, "by_value").max(1)


def quic_use_by_value() -> table.Panel:
    description = "Requests of the window by protocol, and the share by QUIC; the share is empty below 20 requests."
    return panels.rows("Requests by QUIC and ${by}", f"{_QUERIES}/quic_use_by_value", description, is_wide=False)


def without_quic() -> table.Panel:
    description = (
        "Carriers with at least 20 requests and none by QUIC: UDP is blocked there, or their clients do not try. "
        "No rows is as it should be."
    )
    return panels.rows("Carriers without QUIC", f"{_QUERIES}/without_quic", description, is_wide=False)


def happy_eyeballs() -> table.Panel:
    description = (
        "What apps logged of choosing between IPv6 and IPv4: share that ended on IPv6, share whose timer fired so that "
        "the other family was tried, share where the second won, and how much later it was begun (mean of all, most)."
    )
    return panels.rows("Happy eyeballs", f"{_QUERIES}/happy_eyeballs", description, is_wide=False)


def races() -> table.Panel:
    description = (
        "Races of QUIC against TCP that apps logged: shares won by QUIC, up after TCP had won (late), ended by an "
        "error (failed), given up when TCP had won (cancelled); medians of how long each took where it came up, and of "
        "QUIC's head start."
    )
    return panels.rows("Races by ${by}", f"{_QUERIES}/races", description)


def closes() -> table.Panel:
    description = (
        "How connections with a trace were closed: the first reason that is not the ordinary end, and which side "
        "closed (owner), as the side that logged saw it."
    )
    return panels.rows("Close reasons", f"{_QUERIES}/closes", description)
