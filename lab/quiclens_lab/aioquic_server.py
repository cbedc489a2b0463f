"""aioquic's HTTP/3 server as a program: `python -m quiclens_lab.aioquic_server --out DIR --certificate PEM --key PEM`.

Each connection's qlog is a JSON-SEQ file that grows with every event, and the access log grows with every answer: what
a collector follows on a machine that serves. It speaks the protocol of `servers.py`. With `--documents` aioquic's own
writer is used, which writes a document of a connection when that has ended.
"""

import argparse
import asyncio
import hashlib
import json
import signal
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO, cast

from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.asyncio.server import serve
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ProtocolNegotiated, QuicEvent
from aioquic.quic.logger import QuicFileLogger, QuicLogger, QuicLoggerTrace

HOST = "127.0.0.1"
DRAIN_S = 10.0
"""Three probe timeouts, RFC 9000, 10.2, of any path that the lab has."""
SERVER = "edge-live-01"
SERVER_OF_DOCUMENTS = "edge-live-02"


class GrowingTrace(QuicLoggerTrace):
    """A trace that is written as it grows: after each turn of the loop, for aioquic logs a packet first and adds its
    frames while it reads them."""

    def __init__(self, *, is_client: bool, odcid: bytes, folder: Path) -> None:
        super().__init__(is_client=is_client, odcid=odcid)
        self._file = (folder / f"{odcid.hex()}.sqlog").open("w", buffering=1)
        fields = {"ODCID": odcid.hex(), "server": SERVER}
        trace = {"common_fields": fields, "vantage_point": self._vantage_point}
        self._write({"qlog_format": "JSON-SEQ", "qlog_version": "0.3", "trace": trace})

    def log_event(self, *, category: str, event: str, data: dict[str, Any]) -> None:
        if not self._events:
            asyncio.get_running_loop().call_soon(self._flush)
        super().log_event(category=category, event=event, data=data)

    def close(self) -> None:
        self._flush()
        self._file.close()

    def _flush(self) -> None:
        while self._events:
            self._write(self._events.popleft())

    def _write(self, record: dict[str, Any]) -> None:
        if not self._file.closed:
            self._file.write("\x1e" + json.dumps(record) + "\n")


class GrowingLogger(QuicLogger):
    """Starts a file for each connection."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder

    def start_trace(self, is_client: bool, odcid: bytes) -> QuicLoggerTrace:
        trace = GrowingTrace(is_client=is_client, odcid=odcid, folder=self._folder)
        self._traces.append(trace)
        return trace

    def end_trace(self, trace: QuicLoggerTrace) -> None:
        assert isinstance(trace, GrowingTrace)
        trace.close()
        self._traces.remove(trace)


def is_logged(odcid: bytes, share: float) -> bool:
    """Chooses connections by a hash of their id."""
    return int.from_bytes(hashlib.sha256(odcid).digest()[:4], "big") / 2**32 < share


class ShareLogger(QuicLogger):
    """Another logger's traces, for a share of the connections; the others have none."""

    def __init__(self, logger: QuicLogger, share: float) -> None:
        super().__init__()
        self._logger = logger
        self._share = share

    def start_trace(self, is_client: bool, odcid: bytes) -> QuicLoggerTrace:
        # aioquic takes None for a connection without a log, which its types do not say.
        return self._logger.start_trace(is_client, odcid) if is_logged(odcid, self._share) else cast(Any, None)

    def end_trace(self, trace: QuicLoggerTrace) -> None:
        self._logger.end_trace(trace)


class Answering(QuicConnectionProtocol):
    """Answers `/<bytes>/<think in us>`, and writes a line of the access log."""

    access_log: TextIO
    server: str
    _h3: H3Connection | None = None

    def quic_event_received(self, event: QuicEvent) -> None:
        if isinstance(event, ProtocolNegotiated):
            self._h3 = H3Connection(self._quic)
        if self._h3 is not None:
            for each in self._h3.handle_event(event):
                if isinstance(each, HeadersReceived) and each.stream_ended:
                    self._answer(each.stream_id, dict(each.headers), time.time())

    def _answer(self, stream_id: int, headers: dict[bytes, bytes], began: float) -> None:
        size, think_us = (int(part) for part in headers[b":path"].split(b"/")[1:3])
        asyncio.get_running_loop().call_later(think_us / 1e6, self._send, stream_id, headers, size, began)

    def _send(self, stream_id: int, headers: dict[bytes, bytes], size: int, began: float) -> None:
        assert self._h3 is not None
        self._h3.send_headers(stream_id, [(b":status", b"200"), (b"content-length", str(size).encode())])
        self._h3.send_data(stream_id, bytes(size), end_stream=True)
        self.transmit()
        now = time.time()
        line = {
            "time": datetime.fromtimestamp(began, UTC).isoformat(),
            "time_is": "start",
            "method": headers[b":method"].decode(),
            "authority": headers[b":authority"].decode(),
            "path": headers[b":path"].decode(),
            "status": 200,
            "duration_us": int((now - began) * 1e6),
            "response_bytes": size,
            "protocol": "h3",
            "connection_id": self._quic.original_destination_connection_id.hex(),
            "stream_id": stream_id,
            "external_id": headers[b"x-request-id"].decode(),
            "server": self.server,
        }
        self.access_log.write(json.dumps(line) + "\n")


async def run(folder: Path, certificate: Path, key: Path, log_share: float, documents: bool) -> None:
    """Serve until SIGTERM, then close the connections and end their logs."""
    (folder / "traces").mkdir(parents=True, exist_ok=True)
    logger = QuicFileLogger(str(folder / "traces")) if documents else GrowingLogger(folder / "traces")
    configuration = QuicConfiguration(
        is_client=False, alpn_protocols=H3_ALPN, quic_logger=ShareLogger(logger, log_share) if log_share else None
    )
    configuration.load_cert_chain(certificate, key)
    terminated = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, terminated.set)
    with (folder / "access.jsonl").open("a", buffering=1) as access_log:
        name = SERVER_OF_DOCUMENTS if documents else SERVER
        protocol = type("Logging", (Answering,), {"access_log": access_log, "server": name})
        server = await serve(HOST, 0, configuration=configuration, create_protocol=protocol)
        transport = server._transport
        assert transport is not None
        print(json.dumps({"port": transport.get_extra_info("sockname")[1]}), flush=True)
        await terminated.wait()
        # One whose client's farewell was lost is still open, and its document is written when it has drained.
        left = [asyncio.ensure_future(each.wait_closed()) for each in set(server._protocols.values())]
        server.close()
        await asyncio.sleep(0)  # lets the traces write what the close logged
        if left:
            await asyncio.wait(left, timeout=DRAIN_S)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m quiclens_lab.aioquic_server", description=__doc__)
    for name in ("--out", "--certificate", "--key"):
        parser.add_argument(name, type=Path, required=True)
    parser.add_argument("--log-share", type=float, default=1.0, help="of the connections have a qlog")
    parser.add_argument("--documents", action="store_true", help="a document a connection, as aioquic writes it")
    options = parser.parse_args()
    asyncio.run(run(options.out, options.certificate, options.key, options.log_share, options.documents))


if __name__ == "__main__":
    main()
