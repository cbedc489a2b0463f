"""Makes the two aioquic connections of a plan."""

from aioquic.h3.connection import H3_ALPN
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.logger import QuicLogger

from quiclens_lab import aioquic_inside as inside
from quiclens_lab.plan import ConnectionPlan

INITIAL_RTT_SECONDS = 0.333


def client_connection(plan: ConnectionPlan, log: QuicLogger | None) -> QuicConnection:
    """The client of a plan, with the flow control the plan wants."""
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
    )
    make = inside.HeldStreamsConnection if limits.is_stream_held else QuicConnection
    connection = make(configuration=configuration)
    if limits.is_connection_held:
        inside.hold_connection_credit(connection, limits.connection_bytes)
    return connection


def server_connection(plan: ConnectionPlan, log: QuicLogger, connection_id: bytes) -> QuicConnection:
    """The server of a plan, for a client that chose this connection id."""
    configuration = QuicConfiguration(
        is_client=False,
        alpn_protocols=H3_ALPN,
        congestion_control_algorithm=inside.congestion_algorithm(plan.transport),
        initial_rtt=INITIAL_RTT_SECONDS,
        quic_logger=log,
    )
    inside.load_certificate(configuration)
    connection = QuicConnection(configuration=configuration, original_destination_connection_id=connection_id)
    if not plan.transport.is_paced:
        inside.stop_pacing(connection)
    return connection
