"""How a cause looks: a plain name, its colour on a terminal and on a page, and a letter-free fill for terminals without
colours."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Look:
    """Name and colour of a cause; red is loss, yellow limits at the sender, blue the network, green the application."""

    name: str
    colour: str
    hex: str = "#8d939c"


LOOKS: Mapping[str, Look] = {
    "handshake": Look("handshake", "medium_purple3", "#8b6fd6"),
    "amplification": Look("amplification limit", "medium_purple1", "#b48cf2"),
    "upload": Look("upload", "dark_cyan", "#1f9aa0"),
    "server_think": Look("server think", "green3", "#2fa84f"),
    "pto": Look("probe timeout", "magenta3", "#c23bb1"),
    "loss_recovery": Look("loss recovery", "red3", "#d63a3a"),
    "connection_flow_control": Look("connection flow control", "orange3", "#e07b1a"),
    "stream_flow_control": Look("stream flow control", "dark_orange", "#f0994a"),
    "stream_limit": Look("stream limit", "orange4", "#b5651d"),
    "scheduling": Look("other streams", "gold3", "#b99b1c"),
    "bandwidth": Look("bandwidth", "dodger_blue3", "#2e6fd8"),
    "cwnd_blocked": Look("congestion window", "yellow3", "#e2bd1c"),
    "pacing": Look("pacing", "khaki3", "#c9b458"),
    "app_limited": Look("application limited", "chartreuse3", "#86c13f"),
    "queueing": Look("queueing", "sky_blue3", "#6fb2e8"),
    "network": Look("network", "steel_blue", "#4a86b8"),
    "remote_wait": Look("remote wait", "turquoise4", "#1f8a8a"),
    "receiving": Look("receiving", "cornflower_blue", "#7b8fe0"),
    "receiver_hol": Look("receiver gap", "indian_red", "#c96a6a"),
    "unattributed": Look("unattributed", "grey58", "#8d939c"),
}
FILLS = "█▓▒░▚▞▤▥▦▧"


def look(cause: str) -> Look:
    return LOOKS.get(cause, Look(cause, "white"))
