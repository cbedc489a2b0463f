"""Makes the two aioquic connections of a plan."""

from functools import partial

from aioquic.h3.connection import H3_ALPN
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.logger import QuicLogger
from aioquic.tls import SessionTicket

from quiclens_lab import aioquic_inside as inside
from quiclens_lab.plan import ConnectionPlan
from quiclens_lab.resumption import ResumptionTicket

INITIAL_RTT_SECONDS = 0.333


def client_connection(plan: ConnectionPlan, log: QuicLogger | None, ticket: ResumptionTicket | None) -> QuicConnection:
    """The client of a plan, with the flow control the plan wants; with a ticket it resumes that session."""
    limits = plan.limits
    configuration = QuicConfiguration(
        is_client=True,
        alpn_protocols=H3_ALPN,
        server_name=plan.authority,
        verify_mode=0,
        max_data=limits.connection_bytes,
        max_stream_data=limits.stream_bytes,
        initial_rtt=INITIAL_RTT_SECONDS,
        quic_logger=log,
        session_ticket=ticket.client if ticket else None,
    )
    make = inside.HeldStreamsConnection if limits.is_stream_held else QuicConnection
    connection = make(configuration=configuration)
    if limits.is_connection_held:
        inside.hold_connection_credit(connection, limits.connection_bytes)
    return connection


def server_connection(
    plan: ConnectionPlan,
    log: QuicLogger,
    connection_id: bytes,
    ticket: ResumptionTicket | None,
    retry_id: bytes | None = None,
) -> QuicConnection:
    """The server of a plan, for a client that chose this connection id; it knows the ticket it once gave out.

    With a `retry_id` the client was sent that one in a Retry.
    """
    transport = plan.transport
    configuration = QuicConfiguration(
        is_client=False,
        alpn_protocols=H3_ALPN,
        congestion_control_algorithm=inside.congestion_algorithm(transport),
        initial_rtt=INITIAL_RTT_SECONDS,
        quic_logger=log,
    )
    inside.load_certificate(configuration)
    make = QuicConnection if transport.is_amplification_limited else inside.UnlimitedConnection
    fetch = None if ticket is None else partial(_the_ticket, ticket.server)
    connection = make(
        configuration=configuration,
        original_destination_connection_id=connection_id,
        retry_source_connection_id=retry_id,
        session_ticket_fetcher=fetch,
    )
    inside.shape_sending(connection, transport)
    return connection


def _the_ticket(ticket: SessionTicket, _label: bytes) -> SessionTicket:
    return ticket
