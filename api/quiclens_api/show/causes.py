"""How a cause looks: a plain name, a colour, and a letter-free fill for terminals without colours."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Look:
    """Name and colour of a cause; red is loss, yellow limits at the sender, blue the network, green the application."""

    name: str
    colour: str


LOOKS: Mapping[str, Look] = {
    "handshake": Look("handshake", "medium_purple3"),
    "amplification": Look("amplification limit", "medium_purple1"),
    "upload": Look("upload", "dark_cyan"),
    "server_think": Look("server think", "green3"),
    "pto": Look("probe timeout", "magenta3"),
    "loss_recovery": Look("loss recovery", "red3"),
    "connection_flow_control": Look("connection flow control", "orange3"),
    "stream_flow_control": Look("stream flow control", "dark_orange"),
    "scheduling": Look("other streams", "gold3"),
    "bandwidth": Look("bandwidth", "dodger_blue3"),
    "cwnd_blocked": Look("congestion window", "yellow3"),
    "pacing": Look("pacing", "khaki3"),
    "app_limited": Look("application limited", "chartreuse3"),
    "queueing": Look("queueing", "sky_blue3"),
    "network": Look("network", "steel_blue"),
    "remote_wait": Look("remote wait", "turquoise4"),
    "receiving": Look("receiving", "cornflower_blue"),
    "receiver_hol": Look("receiver gap", "indian_red"),
    "unattributed": Look("unattributed", "grey58"),
}
FILLS = "█▓▒░▚▞▤▥▦▧"


def look(cause: str) -> Look:
    return LOOKS.get(cause, Look(cause, "white"))
