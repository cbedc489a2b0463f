"""What tests of servers from their own packages have in common: a certificate, a port, requests over HTTP/3."""

import socket
import subprocess
import time
from pathlib import Path

from quiclens_lab.errors import LabError
from quiclens_lab.live_client import client


def make_certificate(folder: Path) -> None:
    """`chain.pem` and `key.pem` of localhost."""
    made = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    made += ["-addext", "subjectAltName=DNS:localhost", "-keyout", f"{folder}/key.pem", "-out", f"{folder}/chain.pem"]
    subprocess.run(["openssl", *made], check=True, capture_output=True)


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


async def ask(port: int, connections: int, requests: int) -> None:
    """Connections one after the other, as soon as the server is there."""
    until = time.monotonic() + 600
    for number in range(connections):
        while True:
            try:
                await client(port, number, requests, 0)
                break
            except LabError:  # it is not there yet
                assert number == 0 and time.monotonic() < until
