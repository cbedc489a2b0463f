"""What the reports about connections share: the columns of `requests` that are true of a whole connection, and when it
began."""

from collections.abc import Sequence
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from quiclens_schema.catalogue import Column

from quiclens_questions.failure import usage
from quiclens_questions.where import request_columns

_CLIENT = (
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
_OF_A_CLIENT = ("pop", *_CLIENT)
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
    *_CLIENT,
)
_HOUR, _WEEKDAY = "hour", "weekday"
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
Key = tuple[str | None, ...]


def connection_columns() -> dict[str, Column]:
    """What --by and --where may name where a report speaks of connections."""
    known = request_columns()
    return {name: known[name] for name in _DIMENSIONS}


def client_columns() -> dict[str, Column]:
    """What --by and --where may name where a report speaks of what apps logged of themselves."""
    known = request_columns()
    return {name: known[name] for name in _OF_A_CLIENT}


def begun_columns() -> dict[str, Column]:
    """What --by may name besides: when a connection began, by the clock of a time zone."""
    return {
        _HOUR: Column(_HOUR, "Nullable(UInt8)", "hour of the day in which the connection began, 0 to 23"),
        _WEEKDAY: Column(_WEEKDAY, "Nullable(String)", "day of the week on which the connection began, Mon to Sun"),
    }


def time_zone(name: str) -> str:
    """The name of a time zone, checked; UTC where none is named."""
    if not name:
        return "UTC"
    try:
        if name.startswith("right/"):  # with leap seconds, which the engine does not know
            raise ValueError(name)
        return ZoneInfo(name).key
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise usage(f"there is no time zone {name!r}", "an IANA name, such as Asia/Kolkata") from None


def by_time(groups: Sequence[Key], by: Sequence[str]) -> list[Key]:
    """Groups in order of the hours and weekdays among their values; of one hour, and where there is none, as they were.
    A connection whose clock is not known comes last."""
    return sorted(groups, key=lambda group: [_place(name, value) for name, value in zip(by, group, strict=True)])


def _place(name: str, value: str | None) -> int:
    if name == _HOUR:
        return 24 if value is None else int(value)
    if name == _WEEKDAY:
        return 7 if value is None else WEEKDAYS.index(value)
    return 0
