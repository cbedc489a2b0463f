"""What a request says: parameters, settings, format and compression, read into one value."""

import json
import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from quiclens_store_server import reviewed
from quiclens_store_server.codecs import ENCODINGS, Encoder, encoder, framer
from quiclens_web.front import foreign
from quiclens_web.front.faults import Fault, Refused
from quiclens_web.front.settings import StatementLimits


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


DEFAULT_FORMAT = "TabSeparated"

GREETING = "SELECT displayName(), version(), revision(), timezone()"
"""What clickhouse-go asks first; it is answered by hand."""
_WRITABLE = "SELECT name, value, readonly FROM system.settings"


def runs_as(normal: str, sql: str) -> str:
    """What runs for a statement: itself, but where clickhouse-connect asks which settings it may send. All of them are
    read-only on a handle for reading; those that a request may have are said to be not."""
    if not normal.startswith(f"{_WRITABLE} "):
        return sql
    free = ", ".join(f"'{name}'" for name, may in reviewed.names("settings").items() if may)
    return normal.replace(
        _WRITABLE, f"SELECT name, value, toUInt8(name NOT IN ({free})) AS readonly FROM system.settings", 1
    )


_COUNTS = (
    "read_rows",
    "read_bytes",
    "written_rows",
    "written_bytes",
    "total_rows_to_read",
    "result_rows",
    "result_bytes",
    "elapsed_ns",
)
_SHORTEST_SECONDS = 0.001
_PARAMETER = "param_"
_SETTING = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# It is told in a header, where spaces at its ends would not be part of it (RFC 9110, 5.5).
_QUERY_ID = re.compile(r"(?! )[\x20-\x7e]{1,200}(?<! )")
# Of the transport, or without meaning for a server that has no sessions, users or progress headers.
_TRANSPORT = _names(
    """
    query database default_format query_id session_id session_timeout session_check close_session compress decompress
    wait_end_of_query http_wait_end_of_query buffer_size http_response_buffer_size client_protocol_version quota_key
    enable_http_compression http_zlib_compression_level network_compression_method network_zstd_compression_level
    send_progress_in_http_headers http_headers_progress_interval_ms cancel_http_readonly_queries_on_client_close
    stacktrace log_comment replace_running_query add_http_cors_header readonly async_insert wait_for_async_insert
    """
)


@dataclass(frozen=True, slots=True)
class StatementRequest:
    """One request, its body apart."""

    query: str
    query_id: str
    database: str
    default_format: str
    parameters: Mapping[str, str]
    settings: Mapping[str, str]
    is_whole: bool  # answer only once all of it is known (wait_end_of_query)
    is_framed_in: bool
    frames_out: str  # compression of ClickHouse's frames in the answer, empty for none
    encoding_out: str
    protocol_version: int


def read(given: Iterable[tuple[str, str]], headers: Mapping[str, str]) -> StatementRequest:
    """Read the parameters of one request; Fault when one of them makes no sense."""
    said: dict[str, str] = {}
    for name, value in given:
        if name == "user":  # the token decides, not the name
            continue
        if name == "password" and not value:
            continue
        if name == "password":
            raise Fault(516, "AUTHENTICATION_FAILED", "A token does not belong in a URL; send it as X-ClickHouse-Key")
        said[name] = value
    query_id = said.get("query_id") or str(uuid.uuid4())
    if not _QUERY_ID.fullmatch(query_id):
        raise Fault(36, "BAD_ARGUMENTS", "A query_id has 1 to 200 printable characters, and no space at its ends")
    settings = {name: value for name, value in said.items() if not _is_ours(name)}
    for name in settings:
        if not _SETTING.fullmatch(name):
            raise Fault(115, "UNKNOWN_SETTING", f"Unknown setting {name!r}")
    may_compress = said.get("enable_http_compression", "1") not in ("0", "false")
    return StatementRequest(
        query=said.get("query", ""),
        query_id=query_id,
        database=said.get("database") or headers.get("x-clickhouse-database") or "default",
        default_format=said.get("default_format") or headers.get("x-clickhouse-format") or DEFAULT_FORMAT,
        parameters={name.removeprefix(_PARAMETER): value for name, value in said.items() if _is_parameter(name)},
        settings=settings,
        is_whole=_flag(said, "wait_end_of_query") or _flag(said, "http_wait_end_of_query"),
        is_framed_in=_flag(said, "decompress"),
        frames_out=(said.get("network_compression_method") or "LZ4") if _flag(said, "compress") else "",
        encoding_out=_encoding(headers.get("accept-encoding", "")) if may_compress else "",
        protocol_version=_protocol_version(said.get("client_protocol_version", "")),
    )


def encoder_of(asked: StatementRequest, size: int | None) -> tuple[Encoder | None, str]:
    """What compresses the answer, and its Content-Encoding; a small answer, of known size, goes as it is."""
    if asked.frames_out:
        return framer(asked.frames_out), ""
    if asked.encoding_out and (size is None or size > 16_384):
        return encoder(asked.encoding_out), asked.encoding_out
    return None, ""


def capped(asked: Mapping[str, str], limits: StatementLimits) -> dict[str, str]:
    """The settings of a request with the limits written in: what it asked for, but no more than is allowed."""
    settings = dict(asked)
    for name, most in _most(limits).items():
        if not _is_within(name, settings.get(name, ""), most):
            settings[name] = f"{most:.0f}" if most >= 1 else f"{most:g}"
    return settings | {"result_overflow_mode": "throw", "timeout_overflow_mode": "throw"}


def refuse_settings(asked: Iterable[str]) -> None:
    """Fault when a request sets what would undo a check."""
    for name in asked:
        reviewed.refuse_setting(name)
        if name == reviewed.FILTERS:
            raise Refused(f"Setting {name} is refused over HTTP but in the statement itself, where it is judged")


def check_settings(asked: Mapping[str, str], limits: StatementLimits) -> None:
    """Fault when a statement's own SETTINGS want more than is allowed."""
    most = _most(limits)
    for name, value in asked.items():
        if name in most and not _is_within(name, value, most[name]):
            raise Fault(
                452, "SETTING_CONSTRAINT_VIOLATION", f"Setting {name} shouldn't be greater than {most[name]:.0f}"
            )
        if name in ("result_overflow_mode", "timeout_overflow_mode") and value != "'throw'":
            raise Fault(452, "SETTING_CONSTRAINT_VIOLATION", f"Setting {name} is always throw here")


def summary(counts: Mapping[str, int]) -> str:
    """X-ClickHouse-Summary: whole numbers as strings."""
    return json.dumps({name: str(counts.get(name, 0)) for name in _COUNTS}, separators=(",", ":"))


def _most(limits: StatementLimits) -> dict[str, float]:
    return {name: float(getattr(limits, field)) for name, field in reviewed.CAPPED.items()}


def _is_within(name: str, value: str, most: float) -> bool:
    """Whether a limit is one, and no larger than `most`: the engine cuts fractions off, and 0 is none."""
    number = _number(value)
    if name == "max_execution_time":
        return _SHORTEST_SECONDS <= number <= most
    return number.is_integer() and 1 <= number <= most


def _number(text: str) -> float:
    try:
        return float(text.strip("'"))
    except ValueError:
        return 0.0


def _is_ours(name: str) -> bool:
    return name in _TRANSPORT or _is_parameter(name)


def _is_parameter(name: str) -> bool:
    return name.startswith(_PARAMETER)


def _flag(said: Mapping[str, str], name: str) -> bool:
    return said.get(name, "0") in ("1", "true")


def _protocol_version(text: str) -> int:
    read = foreign.whole_number(text or "0")
    if read is None:
        raise Fault(36, "BAD_ARGUMENTS", "client_protocol_version is a whole number")
    return read


def _encoding(accepted: str) -> str:
    """The first of the client's encodings that we have: clients name the one they want most first."""
    offers: Sequence[str] = [each.strip().lower() for each in accepted.split(",")]
    for offer in offers:
        name, _, quality = offer.partition(";")
        if name.strip() in ENCODINGS and quality.replace(" ", "") not in ("q=0", "q=0.0"):
            return name.strip()
    return ""
