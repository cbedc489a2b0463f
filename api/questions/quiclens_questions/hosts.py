"""What the reports about hosts share: the columns of a host, as its own log names it, and what can be asked of it."""

from quiclens_schema.catalogue import Column

from quiclens_questions.where import request_columns

BEGAN_AT, SINCE_START = "began_at", "since_start"
_OF_A_HOST = ("server", "cluster", "pop", "server_release")


def host_columns() -> dict[str, Column]:
    """What --where may name where a report speaks of hosts."""
    known = request_columns()
    return {name: known[name] for name in _OF_A_HOST}


def restarted_columns() -> dict[str, Column]:
    """What --where may name of restarts: not the release, which the log's header has of the process before."""
    return {name: column for name, column in host_columns().items() if name != "server_release"}


def place_columns() -> dict[str, Column]:
    """What --by may name where packets land in one place and were meant for another."""
    known = request_columns()
    return {name: known[name] for name in ("cluster", "server")}


def restart_columns() -> dict[str, Column]:
    """What --by may name of restarts."""
    return host_columns() | {
        BEGAN_AT: Column(BEGAN_AT, "String", "when the new process took over"),
        SINCE_START: Column(
            SINCE_START, "String", "seconds since then, ten by ten: the first of them; below 0: before"
        ),
    }
