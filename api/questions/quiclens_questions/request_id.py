"""What a user may call a request: `<connection_id>/<stream_id>`, an external id, `log:<log_id>/<offset>`."""

import re
from dataclasses import dataclass

_STREAM = re.compile(r"(?P<connection>.+)/(?P<stream>[0-9]{1,19})", re.DOTALL)


@dataclass(frozen=True)
class StreamName:
    """A stream of a connection, as a trace knows it."""

    connection_id: str
    stream_id: int


def stream_name(request_id: str) -> StreamName | None:
    """The stream that an id names, None for ids of other kinds."""
    match = _STREAM.fullmatch(request_id)
    if match is None or request_id.startswith("log:"):
        return None
    return StreamName(match["connection"], int(match["stream"]))
