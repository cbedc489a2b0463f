"""Client addresses in twenty forms, and logs that have one in every text: what may not be found where redaction is on.

The forms are those of `collectors/edge/tests/canary.rs`.
"""

import json
from dataclasses import dataclass

_WORD = "CANARY"


@dataclass(frozen=True, slots=True)
class Canary:
    """An address as it stands in JSON, and what must not be found of it."""

    form: str
    needles: tuple[str, ...]

    @property
    def spoken(self) -> str:
        """What the form stands for once JSON's escapes are read."""
        text: str = json.loads(f'"{self.form}"')
        return text

    def in_json(self, value: object) -> bytes:
        """A line of JSON with the address in place of every mark."""
        return json.dumps(value).replace(_WORD, self.form).encode() + b"\n"

    def in_text(self, text: str) -> bytes:
        """A text that is no JSON."""
        return text.replace(_WORD, self.spoken).encode() + b"\n"


CANARIES = (
    Canary("192.0.2.77", ("192.0.2.77",)),
    Canary("192.0.2.77:51234", ("192.0.2.77",)),
    Canary("2001:db8::77", ("2001:db8::77",)),
    Canary("2001:db8:1:2:3:4:5:77", ("3:4:5:77",)),
    Canary("2001:0db8:0001:0002:0003:0004:0005:0077", ("0005:0077",)),
    Canary("::ffff:192.0.2.77", ("192.0.2.77",)),
    Canary("[2001:db8::77]:443", ("2001:db8::77",)),
    Canary("192%2E0%2E2%2E77", ("192%2E0%2E2%2E77", "192.0.2.77")),
    Canary("2001%3Adb8%3A%3A77", ("%3A%3A77", "2001:db8::77")),
    Canary(r"2001\u003adb8\u003a\u003a77", (r"\u003a77", "2001:db8::77")),
    Canary(r"\u003c192.0.2.77\u003e", ("192.0.2.77",)),
    Canary("ip1=192.0.2.77,ip2=2001:db8::77,port1=443,port2=51234", ("192.0.2.77", "2001:db8::77")),
    Canary("client:192.0.2.77", ("192.0.2.77",)),
    Canary("be:192.0.2.77:51234", ("192.0.2.77",)),
    Canary("q?ip%3A192.0.2.77", ("192.0.2.77",)),
    Canary("client:2001:db8:1:2::77", ("db8:1:2", "::77")),
    Canary("be:2001:db8:1:2:3:4:5:77", ("4:5:77",)),
    Canary("peer:::ffff:192.0.2.77", ("192.0.2.77",)),
    Canary("192.0.2.77:443:198.51.100.77:51234", ("192.0.2.77", "198.51.100.77")),
    Canary("192.0.2.77.51234", ("192.0.2.77",)),
)
NEEDLES = tuple(sorted({needle for canary in CANARIES for needle in canary.needles}))


def found(text: str) -> list[str]:
    """Which addresses stand in a text, with what is around the first place of each."""
    places = ((needle, text.find(needle)) for needle in NEEDLES)
    return [f"{needle}: …{text[max(0, at - 60) : at + 60]}…" for needle, at in places if at >= 0]


_PACKET_HEADER = {"packet_type": "1RTT", "packet_number": 1, "dcid": _WORD, "scid": _WORD, "token": {"data": _WORD}}
_WORDS = (
    "trigger",
    "new",
    "old",
    "new_state",
    "owner",
    "old_state",
    "timer_type",
    "event_type",
    "packet_type",
    "reason",
)
_NAMES = (
    _WORD,
    "transport:connection_started",
    "connectivity:connection_closed",
    "recovery:packet_lost",
    "security:key_updated",
    "recovery:congestion_state_updated",
    "recovery:loss_timer_updated",
    "quic:migration_state_updated",
)
_HEADERS = (":method", ":path", ":authority", ":status", "x-request-id", "cookie", _WORD)
_COLUMNS = (
    *("external_id", "method", "authority", "path", "protocol", "server", "cluster", "pop", "carrier", "country"),
    *("region", "city", "network_type", "app", "app_version", "device", "user_hash", "arm", "client", "remote_addr"),
    *(_WORD, "referer", "forwarded"),
)


def qlog(canary: Canary, connection: str, at_us: int) -> bytes:
    """An NDJSON log of one connection with one request, an address in every text of it, and a line that is no JSON."""
    common = {"reference_time": at_us / 1000, "time_format": "relative", "ODCID": connection, _WORD: {_WORD: [_WORD]}}
    header = {
        "qlog_version": "0.3",
        "qlog_format": "NDJSON",
        "title": _WORD,
        "description": _WORD,
        _WORD: _WORD,
        "code_version": _WORD,
        "trace": {
            "title": _WORD,
            "stack_version": _WORD,
            "description": _WORD,
            "congestion_controller": _WORD,
            "configuration": {_WORD: _WORD},
            "common_fields": common,
            "vantage_point": {"name": _WORD, "type": "server"},
        },
    }
    stream = {"frame_type": "stream", "stream_id": 0, "offset": 0, "length": 9, "fin": True, "raw": _WORD, _WORD: _WORD}
    packet = {
        "header": {**_PACKET_HEADER, _WORD: _WORD},
        "trigger": _WORD,
        "frames": [stream, {"frame_type": _WORD, "reason": _WORD}],
        "raw": {"length": 99, "data": _WORD},
    }
    started = {
        "ip_version": "v4",
        "src_ip": _WORD,
        "dst_ip": _WORD,
        "src_port": 443,
        "dst_port": 51234,
        "src_cid": _WORD,
    }
    words = {word: _WORD for word in _WORDS} | {"n": [_WORD], "message": f"lost {_WORD}", _WORD: {_WORD: [_WORD]}}
    fields = [{"name": name, "value": _WORD} for name in _HEADERS]
    request = {"stream_id": 0, _WORD: _WORD, "frame": {"frame_type": "headers", "headers": fields, _WORD: _WORD}}
    records = [
        {"time": 0.5, "name": "connectivity:connection_started", "data": started},
        {"time": 1, "name": "transport:packet_received", _WORD: _WORD, "data": packet},
        {"time": 2, "name": "http:frame_parsed", "data": request},
        *({"time": 3, "name": name, "data": words} for name in _NAMES),
        {"time": 4, "name": "http:frame_created", "data": request},
        {"time": 5, "name": "transport:packet_sent", _WORD: _WORD, "data": packet},
    ]
    lines = [canary.in_json(each) for each in (header, *records)]
    return b"".join(lines) + canary.in_text(f'{{"time":6,"name":"{_WORD}","da')


def lines(canary: Canary, connection: str, at_us: int) -> bytes:
    """The same of quiclens line v1, with rows that cannot be read."""
    rows = (
        f"{connection}\t0\t1\tclock_anchor\t{at_us}, {_WORD}, 1, server",
        f"{connection}\t1\t2\t{_WORD}\t{_WORD}, 1",
        f"{connection}\t2\t2\tconn_close\t{_WORD}, {_WORD}",
        f"{connection}\t3\t{_WORD}\tx",
        f"{connection}\t4\t3\tstream_event\ton_error, 4, 1, {_WORD}",
    )
    return b"".join(canary.in_text(row) for row in rows)


def access(canary: Canary, connection: str, time: str) -> bytes:
    """A line of an access log, and one that is none."""
    line = {column: _WORD for column in _COLUMNS} | {
        "time": time,
        "time_is": "start",
        "connection_id": connection,
        "stream_id": 0,
        "nested": {_WORD: [_WORD]},
    }
    return canary.in_json(line) + canary.in_text(f'{{"time": "{_WORD}')
