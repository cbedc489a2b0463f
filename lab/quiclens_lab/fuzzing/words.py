"""A dictionary for libFuzzer: the words of the formats, from the catalogue and the grammar of QUIC_TRACE."""

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from quiclens_lab.machine import LAB

CATALOGUE = LAB.parent / "schema" / "catalogue"
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_:.-]{1,40}")

# Parts of syntax, numbers at limits, and the addresses that `targets/redact.rs` looks for.
SYNTAX = (
    *(
        '{"time":',
        ',"name":"',
        '","data":{',
        '"frames":[{"frame_type":"',
        '"acked_ranges":[[',
        '{"traces":[{"events":[',
    ),
    *('"common_fields":{', '"vantage_point":{"type":"', '"header":{"packet_type":"', '"raw":{"length":', "\\u00e9"),
    *(
        '"time_format":"delta"',
        '"time_format":"relative_to_previous_event"',
        '"event_fields":["delta_time","category",',
    ),
    *('"reference_time":', '"time_units":"us"', '"group_id":"', '"ODCID":"', '"type":"client"', '"flow":"server"'),
    *("\x1e", "\n", "\r\n", "\t", "||", ", ", "\ufeff", "}]}", "null", "true", "1e400", "-0.0", "\\ud800"),
    *("9223372036854775807", "18446744073709551615", "4611686018427387903", "1700000000000", "9007199254740993"),
    *("198.51.100.77", "2001:db8:dead:beef:1234:5678:9abc:def1", "2001:db8:dead:beef::77", "::ffff:", "[::1]:443"),
    *("[20/Nov/2026:10:00:00 +0000]", "2026-11-20T10:00:00.310Z", '"GET / HTTP/3.0"', " - - ", "%{%s.%3f}t", "$msec"),
    *("$time_iso8601", "%{%d/%b/%Y:%H:%M:%S}t", "%START_TIME(%s.%3f)%", "%[date(0)]", "%tr", "%>s", "$remote_addr"),
)


def words() -> set[str]:
    """Names of events, fields, columns and values that the catalogue knows."""
    found: set[str] = set()
    for path in sorted(CATALOGUE.rglob("*")):
        if path.suffix == ".toml":
            found.update(_words(tomllib.loads(path.read_text())))
        elif path.suffix == ".json":
            found.update(_words(json.loads(path.read_text())))
    return found


def _words(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        if _WORD.fullmatch(value):
            yield value
    elif isinstance(value, dict):
        for key, inside in value.items():
            if key not in ("doc", "note", "first", "last"):
                yield from _words(key)
                yield from _words(inside)
    elif isinstance(value, list):
        for inside in value:
            yield from _words(inside)


def write(path: Path) -> None:
    """Write the dictionary in libFuzzer's form."""
    quoted = [f'"{word}"' for word in sorted(words())]
    path.write_text("".join(f'"{_escaped(word)}"\n' for word in (*SYNTAX, *quoted)))


def _escaped(word: str) -> str:
    plain = range(0x20, 0x7F)
    return "".join(
        chr(byte) if byte in plain and chr(byte) not in '"\\' else f"\\x{byte:02X}" for byte in word.encode()
    )
