"""How a cause looks: a plain name, its colour on a terminal and on a page, and a letter-free fill for terminals without
colours.

A family has a hue: purple the set-up of the connection, teal the peer, green the application, red loss, orange flow
control, yellow the window, blue the network. Within it causes differ in lightness, so that any two can be told apart,
also by the colour-blind, and each from the page (a test computes it).
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Look:
    """Name of a cause, its colour on a terminal, and on a light and on a dark page."""

    name: str
    colour: str
    on_light: str = "#5d6878"
    on_dark: str = "#98a4b5"


LOOKS: Mapping[str, Look] = {
    "handshake": Look("handshake", "medium_purple3", "#9c57a3", "#a586b4"),
    "amplification": Look("amplification limit", "medium_purple1", "#53287b", "#81619c"),
    "upload": Look("upload", "dark_cyan", "#00424e", "#16ffd6"),
    "server_think": Look("server think", "green3", "#849700", "#45792e"),
    "pto": Look("probe timeout", "magenta3", "#d76984", "#a9506d"),
    "loss_recovery": Look("loss recovery", "red3", "#c0465f", "#db2520"),
    "connection_flow_control": Look("connection flow control", "orange3", "#5f1a00", "#ce8802"),
    "stream_flow_control": Look("stream flow control", "dark_orange", "#260a00", "#9e7761"),
    "stream_limit": Look("stream limit", "orange4", "#5a3934", "#f2b7a3"),
    "scheduling": Look("other streams", "gold3", "#386000", "#cefe31"),
    "bandwidth": Look("bandwidth", "dodger_blue3", "#206be7", "#2596f9"),
    "cwnd_blocked": Look("congestion window", "yellow3", "#777817", "#c0c94f"),
    "pacing": Look("pacing", "khaki3", "#aa895e", "#fbe89e"),
    "app_limited": Look("application limited", "chartreuse3", "#5b613e", "#97aa6c"),
    "queueing": Look("queueing", "sky_blue3", "#03026a", "#a9bbef"),
    "network": Look("network", "steel_blue", "#0590fc", "#1171de"),
    "remote_wait": Look("remote wait", "turquoise4", "#527a6a", "#35cabf"),
    "receiving": Look("receiving", "cornflower_blue", "#006478", "#c0f7ff"),
    "receiver_hol": Look("receiver gap", "indian_red", "#64988d", "#709c88"),
    "unattributed": Look("unattributed", "grey58", "#1f1f26", "#7b8086"),
}
FILLS = "█▓▒░▚▞▤▥▦▧"


def look(cause: str) -> Look:
    return LOOKS.get(cause, Look(cause, "white"))
