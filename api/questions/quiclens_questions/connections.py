"""What the reports about connections share: the columns of `requests` that are true of a whole connection."""

from quiclens_schema.catalogue import Column

from quiclens_questions.where import request_columns

_DIMENSIONS = (
    "vantage",
    "stack",
    "stack_version",
    "quic_version",
    "congestion_controller",
    "server",
    "cluster",
    "pop",
    "server_release",
    "carrier",
    "asn",
    "country",
    "region",
    "city",
    "h3_cell",
    "network_type",
    "app_version",
    "device",
    "client_network",
)


def connection_columns() -> dict[str, Column]:
    """What --by and --where may name where a report speaks of connections."""
    known = request_columns()
    return {name: known[name] for name in _DIMENSIONS}
