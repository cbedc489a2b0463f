"""A session ticket: the lab's client once connected before, over a path without delay, and left with a ticket."""

from dataclasses import dataclass, field

from aioquic.h3.connection import H3_ALPN
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.tls import SessionTicket

from quiclens_lab import aioquic_inside as inside
from quiclens_lab.draws import digest
from quiclens_lab.endpoint import PEER
from quiclens_lab.errors import LabError
from quiclens_lab.plan import START_US, ConnectionPlan

ROUNDS = 20


@dataclass(frozen=True)
class ResumptionTicket:
    """Both ends' view of one ticket: each remembers the other's transport parameters."""

    client: SessionTicket
    server: SessionTicket


@dataclass
class _Tickets:
    client: list[SessionTicket] = field(default_factory=list)
    server: list[SessionTicket] = field(default_factory=list)


def resumption_ticket(plan: ConnectionPlan) -> ResumptionTicket:
    """Connect once and keep the ticket. Deterministic in the plan's seed but for the keys, which nothing logs."""
    found = _Tickets()
    seed = int.from_bytes(digest(plan.seed, "earlier connection", size=7), "big")
    with inside.repeatable(seed, inside.VirtualClock(plan.wall_start_us - START_US)):
        client, server = _ends(plan, found)
        client.connect(PEER, 0.0)
        for number in range(ROUNDS):
            now = number / 1000
            for sender, receiver in ((client, server), (server, client)):
                for payload, _ in sender.datagrams_to_send(now):
                    receiver.receive_datagram(payload, PEER, now)
            if found.client and found.server:
                return ResumptionTicket(found.client[0], found.server[0])
    raise LabError("the earlier connection of a resumed one gave no ticket; is another aioquic installed?")


def _ends(plan: ConnectionPlan, found: _Tickets) -> tuple[QuicConnection, QuicConnection]:
    asking = QuicConfiguration(
        is_client=True,
        alpn_protocols=H3_ALPN,
        server_name=plan.authority,
        verify_mode=0,
        max_data=plan.limits.connection_bytes,
        max_stream_data=plan.limits.stream_bytes,
    )
    client = QuicConnection(configuration=asking, session_ticket_handler=found.client.append)
    answering = QuicConfiguration(is_client=False, alpn_protocols=H3_ALPN)
    inside.load_certificate(answering)
    server = QuicConnection(
        configuration=answering,
        original_destination_connection_id=client.original_destination_connection_id,
        session_ticket_handler=found.server.append,
    )
    return client, server
