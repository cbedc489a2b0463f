"""A client whose connection ids and address are not what they were: Retry, changed ids, migration.

aioquic's trace names no address, so the lab adds to the server's trace what quic-go logs at its beginning,
`connection_started` with `remote`, and the drafts' `tuple_assigned` where the client has moved.
"""

from dataclasses import dataclass
from typing import Any

from aioquic._buffer import Buffer
from aioquic.quic.logger import QuicLoggerTrace
from aioquic.quic.packet import encode_quic_retry, pull_quic_header

Address = tuple[str, int]
HOST_ID_BYTES = 8  # aioquic's own choice


@dataclass(frozen=True)
class Roaming:
    """Where a client is, and before which turn it changes what."""

    address: Address
    is_retried: bool = False
    new_ids_before_turn: int | None = None
    moves_before_turn: int | None = None
    moved_to: Address | None = None


@dataclass(frozen=True)
class Arrival:
    """From where a datagram came, and the connection id it was sent to."""

    address: Address
    connection_id: str


class RetryRelay:
    """The way into a server: it answers the first datagram with a Retry, and writes down where clients are."""

    def __init__(self, roaming: Roaming, trace: QuicLoggerTrace, retry_id: bytes | None) -> None:
        self._trace = trace
        self._retry_id = retry_id
        self._known: list[Address] = []
        self.address = roaming.address

    def retry(self, datagram: bytes) -> bytes | None:
        """The Retry that answers the first datagram, where one is wanted."""
        retry_id, self._retry_id = self._retry_id, None
        if retry_id is None:
            return None
        header = pull_quic_header(Buffer(data=datagram), host_cid_length=HOST_ID_BYTES)
        assert header.version is not None
        return encode_quic_retry(
            version=header.version,
            source_cid=retry_id,
            destination_cid=header.source_cid,
            original_destination_cid=header.destination_cid,
            retry_token=b"lab",
        )

    def note(self, datagram: bytes, address: Address) -> Arrival:
        """Log an address that is new, and say where the datagram was sent to."""
        if address not in self._known:
            self._known.append(address)
            remote = {"ip_v4": address[0], "port_v4": address[1]}
            name, data = self._event(remote)
            self._trace.log_event(category="transport", event=name, data=data)
        header = pull_quic_header(Buffer(data=datagram), host_cid_length=HOST_ID_BYTES)
        return Arrival(address, header.destination_cid.hex())

    def _event(self, remote: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        if len(self._known) == 1:
            return "connection_started", {"remote": remote}
        return "tuple_assigned", {"tuple_id": str(len(self._known) - 1), "tuple_remote": remote}
