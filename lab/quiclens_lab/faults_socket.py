"""A server that writes its lines to the collector's socket, and knows which of them are on the collector's disk.

Rows go in batches, each over a connection of its own. A peer that ends its side is told `synced` when everything that
it sent is; from then on a batch must never be lost. Of a batch whose connection broke before, nobody knows: it may be
there, in part too, and it is not sent again.
"""

import socket
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

SYNCED = b"synced\n"
TICK_S = 0.1
AGAIN_S = 0.05
LONGEST_S = 60.0
FLOOD_ROWS = 350
FLOOD_VALUE_BYTES = 4_000
FLOOD_BATCH = 10

Place = tuple[str, int]  # connection_id, seq


@dataclass
class SentRows:
    """Rows that were sent together."""

    rows: Sequence[bytes]
    is_synced: bool = False


class RowSender(threading.Thread):
    """Sends rows within `seconds`, and floods in between when it is told to."""

    def __init__(self, path: Path, rows: Sequence[bytes], seconds: float) -> None:
        super().__init__(name="sender", daemon=True)
        self.batches: list[SentRows] = []
        self._path = path
        self._rows = rows
        self._seconds = seconds
        self._floods: list[list[bytes]] = []
        self._flooded = 0

    def flood(self) -> None:
        """Send some megabytes more, as soon as can be."""
        rows = flood_rows(self._flooded)
        self._flooded += 1
        self._floods += [rows[at : at + FLOOD_BATCH] for at in range(0, len(rows), FLOOD_BATCH)]

    def run(self) -> None:
        began = time.monotonic()
        sent = 0
        while sent < len(self._rows) or self._floods:
            time.sleep(0 if self._floods else TICK_S)
            until = round(min((time.monotonic() - began) / self._seconds, 1.0) * len(self._rows))
            if until > sent:
                self._send(SentRows(self._rows[sent:until]))
                sent = until
            if self._floods:
                self._send(SentRows(self._floods.pop(0)))

    def _send(self, batch: SentRows) -> None:
        end = time.monotonic() + LONGEST_S
        while time.monotonic() < end:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as peer:
                peer.settimeout(LONGEST_S)
                try:
                    peer.connect(str(self._path))
                except OSError:  # nobody listens: nothing was sent
                    time.sleep(AGAIN_S)
                    continue
                self.batches.append(batch)
                try:
                    peer.sendall(b"".join(batch.rows))
                    peer.shutdown(socket.SHUT_WR)
                    batch.is_synced = peer.recv(len(SYNCED)) == SYNCED
                except OSError:
                    pass  # it stays unknown
                return


def flood_rows(number: int) -> list[bytes]:
    """One connection with long values: 1.4 MB in all."""
    connection_id = f"f100d{number:011x}"
    rows = [f"{connection_id}\t0\t0\tclock_anchor\t{1_795_168_900_000_000 + number}, edge-flood-01, 77, server"]
    for seq in range(1, FLOOD_ROWS):
        value = f"{number * FLOOD_ROWS + seq:08d}" * (FLOOD_VALUE_BYTES // 8)
        rows.append(f"{connection_id}\t{seq}\t{10 * seq}\tmade_up_event\t{value}")
    return [row.encode() + b"\n" for row in rows]


def place_of(row: bytes) -> Place:
    """Whose record a row is."""
    connection_id, seq, _ = row.decode().split("\t", 2)
    return connection_id, int(seq)


def flip_in(folder: Path, share: float, bit: int) -> bool:
    """Flip one bit of what lies in the spool; False when nothing does."""
    segments = sorted(folder.glob("*.spool"))
    at = int(share * sum(path.stat().st_size for path in segments))
    for path in segments:
        size = path.stat().st_size
        if at < size:
            content = bytearray(path.read_bytes())
            content[at] ^= 1 << bit
            path.write_bytes(content)
            return True
        at -= size
    return False
