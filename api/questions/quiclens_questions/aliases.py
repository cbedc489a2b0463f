"""A connection by any ID it used: what a client's log, a packet capture or a load balancer calls it."""

from quiclens_schema.store import Store

from quiclens_questions.statements import ask

_AT_MOST = 10


def connections_called(store: Store, name: str) -> tuple[str, ...]:
    """The connections to which an ID belonged; traces write them in lower-case hex."""
    rows = ask(store, "aliases", {"alias": name.lower(), "limit": _AT_MOST}).rows
    return tuple(connection_id for (connection_id,) in rows)
