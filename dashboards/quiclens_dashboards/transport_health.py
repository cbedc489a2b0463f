"""The dashboard `Transport health`: what the network and the two stacks did to connections."""

from grafana_foundation_sdk.builders import dashboard as builders
from grafana_foundation_sdk.builders import stat, table, timeseries

from quiclens_dashboards import look, pages, panels

_SENTENCE = (
    "**Are connections healthy, and if not, is it the path, the stack or its windows?** One connection counts "
    "once, at the time it began, as its server's trace saw it; connections without a trace are not here."
)
_QUERIES = "transport_health"


def page() -> builders.Dashboard:
    return pages.page(
        "transport-health",
        "Transport health",
        _SENTENCE,
        [
            panels.coverage(),
            connections(),
            rtt(),
            handshake(),
            loss(),
            probe_timeouts(),
            retransmission_delay(),
            detection(),
            windows(),
            blocked(),
            zero_rtt(),
            migration(),
            handshakes_failed(),
            stacks(),
            by_value(),
        ],
        [
            pages.by(
                "carrier",
                "region",
                "city",
                "pop",
                "network_type",
                "app_version",
                "server",
                "stack_version",
                "congestion_controller",
            )
        ],
    )


def connections() -> stat.Panel:
    description = "Connections with a trace, and shares of them: of those that lost packets, and that had to probe."
    return panels.numbers("Connections", f"{_QUERIES}/connections", description)


def rtt() -> timeseries.Panel:
    description = (
        "Round-trip time: each connection by its least and its mean sample. The mean far above the least is queueing."
    )
    return panels.over_time("RTT", f"{_QUERIES}/rtt", look.US, description)


def handshake() -> timeseries.Panel:
    description = "First packet to the first 1-RTT packet, of connections that completed their handshake."
    return panels.over_time("Handshake", f"{_QUERIES}/handshake", look.US, description)


def loss() -> timeseries.Panel:
    description = (
        "Packets declared lost for each packet sent, and those of them that were acknowledged later (spurious)."
    )
    return panels.over_time("Loss", f"{_QUERIES}/loss", look.SHARE, description)


def probe_timeouts() -> timeseries.Panel:
    description = (
        "Series of probe timeouts, and those answered by a packet that was sent before the timer fired (spurious)."
    )
    return panels.over_time("Probe timeouts", f"{_QUERIES}/probe_timeouts", look.COUNT, description)


def retransmission_delay() -> timeseries.Panel:
    description = (
        "First send of a range of bytes to its first retransmission: each connection by its mean, and the longest"
        " of all."
    )
    return panels.over_time("Retransmission delay", f"{_QUERIES}/retransmission_delay", look.US, description)


def detection() -> table.Panel:
    description = (
        "How long a loss was unknown after the packet was sent, by what found it; detection_rtt in RTTs (mean of "
        "the connection)."
    )
    return panels.rows("Loss detection", f"{_QUERIES}/detection", description, is_wide=False)


def windows() -> timeseries.Panel:
    description = "The first congestion window that was seen, and the most bytes in flight, by connection."
    return panels.over_time("Congestion window", f"{_QUERIES}/windows", look.BYTES, description)


def blocked() -> timeseries.Panel:
    description = (
        "Share of the traced requests' time in which the congestion window, flow control, the limit of streams or the "
        "pacer was what they waited for."
    )
    series = ["cwnd_blocked", "connection_flow_control", "stream_flow_control", "stream_limit", "pacing"]
    return panels.over_time("Blocked", f"{_QUERIES}/blocked", look.SHARE, description, series=series, is_stacked=True)


def zero_rtt() -> timeseries.Panel:
    description = "Connections by what became of 0-RTT data. not_attempted has those whose log says nothing of it."
    series = ["accepted", "rejected", "attempted", "not_attempted"]
    return panels.over_time("0-RTT", f"{_QUERIES}/zero_rtt", look.COUNT, description, series=series, is_stacked=True)


def migration() -> timeseries.Panel:
    description = "Connections that changed their path, and path challenges of ours that were answered."
    return panels.over_time("Migration", f"{_QUERIES}/migration", look.COUNT, description)


def handshakes_failed() -> timeseries.Panel:
    description = "Connections whose handshake never completed in their trace, and Retry packets."
    return panels.over_time("Handshakes that never completed", f"{_QUERIES}/handshakes_failed", look.COUNT, description)


def stacks() -> table.Panel:
    description = "Stack, version and congestion controller as the trace names them, side by side."
    return panels.rows("Stacks", f"{_QUERIES}/stacks", description)


def by_value() -> table.Panel:
    description = (
        "Path, loss and handshake by the chosen column, as the trace knows it; unknown where only the access log does."
    )
    return panels.rows("Connections by ${by}", f"{_QUERIES}/by_value", description)
