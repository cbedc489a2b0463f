"""picoquic's HTTP/3 server, by aiopquic, which needs Python >= 3.12: run by file and `--port N --files DIR …`.

It imports nothing of the lab, for it runs in an environment of its own (`picoquic.py`). It serves the files of a folder
until SIGTERM; connections are picoquic's own, on a thread of its own, and Python only waits.
"""

import argparse
import asyncio
import signal
import socket
from pathlib import Path

from aiopquic.asyncio.webtransport import serve_webtransport
from aiopquic.quic.configuration import QuicConfiguration

NO_SESSIONS = "/webtransport"
"""aiopquic serves files beside WebTransport, at another path."""


async def ignore(session: object) -> None:
    """Nobody asks for a session."""


async def run(port: int, certificate: Path, key: Path, files: Path, qlog: Path | None) -> None:
    """Serve until SIGTERM."""
    terminated = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, terminated.set)
    configuration = QuicConfiguration(
        is_client=False,
        qlog_dir=None if qlog is None else str(qlog),
        congestion_control_algorithm=None,  # picoquic's own default, where aiopquic's is another
        ip_family=socket.AF_INET,
    )
    server = await serve_webtransport(
        "127.0.0.1",
        port,
        NO_SESSIONS,
        handler=ignore,
        cert_file=str(certificate),
        key_file=str(key),
        configuration=configuration,
        web_folder=str(files),
    )
    await terminated.wait()
    server.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    for name in ("--certificate", "--key", "--files"):
        parser.add_argument(name, type=Path, required=True)
    parser.add_argument("--qlog", type=Path, help="a folder for a qlog of each connection; none without it")
    options = parser.parse_args()
    asyncio.run(run(options.port, options.certificate, options.key, options.files, options.qlog))


if __name__ == "__main__":
    main()
