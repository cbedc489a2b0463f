"""Ports of this machine."""

import socket
from pathlib import Path


def free_port() -> int:
    """One that is free for TCP and for UDP."""
    while True:
        with socket.socket() as tcp, socket.socket(type=socket.SOCK_DGRAM) as udp:
            tcp.bind(("127.0.0.1", 0))
            port = int(tcp.getsockname()[1])
            try:
                udp.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


def hears_udp(port: int) -> bool:
    """Whether a process has bound this port, over IPv4."""
    lines = Path("/proc/net/udp").read_text().splitlines()[1:]
    return any(line.split()[1].endswith(f":{port:04X}") for line in lines)
