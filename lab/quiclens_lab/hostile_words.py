"""What a stranger may say in every place of a request, and what once was an unexpected error there."""

from collections.abc import Mapping, Sequence
from typing import Any

_DIGITS = "9" * 5_000
_MOMENTS = (
    "0001-01-01T00:00:00+14:00",
    "0001-01-01T00:00:00Z",
    "9999-12-31T23:59:59-14:00",
    "1e400",
    "-292277022657-01-27T08:29:52Z",
    "99999999999d",
)
_ADDRESSES = ("http://[", "http://[::1", "//[", "http://\uff0f", "\\\\host", "http://a:99999999")
_TEXTS = (
    "\ud800".encode("utf-8", "surrogatepass").decode("latin-1"),
    "\x00",
    "[" * 3_000,
    "%",
    "{a:b}",
    "\u202e",
    _DIGITS,
)
WORDS = (*_MOMENTS, *_ADDRESSES, *_TEXTS, f"-{_DIGITS}", f"1{'0' * 400}", "nan", "inf", "1_000", "\u0663")
"""Of a parameter: ends of the calendar, addresses that no parser takes, digits and nesting without end."""

_FORM = b"--x\r\nContent-Disposition: form-data; name=\"query\"\r\n\r\nSELECT '\\ud800'\r\n--x--\r\n"
_CHARSETS = ("undefined", "punycode", "unicode_escape", "idna", "hex", "zip", "utf-16", "utf-7", "no_such", "\u00e9")
HEADERS: Sequence[Mapping[str, str]] = (
    *({"origin": each} for each in ("http://[", "null", "http://[::1", "\u00e9", "http://a:99999999", "x" * 9_000)),
    *({"host": each} for each in ("[", "[::1", "a:b", "a:99999999", "\u00e9", "")),
    *({"accept-encoding": each} for each in ("gzip;q=nan", "gzip;q=", ",,;;", "br;q=1e999", "x" * 9_000)),
    *({"content-encoding": each} for each in ("gzip", "zstd", "no_such", "gzip, gzip", "")),
    *(
        {"authorization": each}
        for each in ("Basic", "Basic =", "Basic \u00e9", "Bearer", "Bearer \u00e9", "Digest a=b")
    ),
    *({"if-none-match": each} for each in ('"', "W/", "*", "x" * 9_000)),
    *({"cookie": each} for each in ("=", "a", "__Host-quiclens=\u00e9", "quiclens=" + "." * 3_000)),
    *({"x-forwarded-for": each} for each in ("[", "::1%", "1.2.3.4:", "x" * 9_000)),
)
"""Headers, one at a time."""

BODIES: Sequence[tuple[bytes, str]] = (
    *((_FORM, f"multipart/form-data; boundary=x; charset={each}") for each in _CHARSETS),
    (_FORM, "multipart/form-data"),
    (_FORM, "multipart/form-data; boundary=" + "x" * 3_000),
    *((b"[" * 60_000, kind) for kind in ("application/json", "text/plain")),
    *((b'{"a":' * 60_000, kind) for kind in ("application/json", "application/x-www-form-urlencoded")),
    (b'{"a":' + _DIGITS.encode() + b"}", "application/json"),
    (b'"\\ud800"', "application/json"),
    (b"\xff\xfe", "application/json; charset=utf-16"),
    (b"a=1&" * 20_000, "application/x-www-form-urlencoded"),
)
"""Bodies with their content types."""


def say(case: Any, turn: int) -> dict[str, str]:
    """Change a case of schemathesis: one of its parameters, or its body; or give a header for it."""
    words: list[tuple[dict[str, Any], str]] = [(case.query, name) for name in case.query or {}]
    words += [(case.path_parameters, name) for name in case.path_parameters or {}]
    turn, kind = divmod(turn, 3)
    if kind == 0 and words:
        turn, place = divmod(turn, len(words))
        where, name = words[place]
        word = WORDS[turn % len(WORDS)]
        where[name] = [word] if isinstance(where[name], list) else word
    elif kind == 1 and case.method in ("POST", "PUT", "PATCH"):
        case.body, case.media_type = BODIES[turn % len(BODIES)][0], None
        return {"content-type": BODIES[turn % len(BODIES)][1]}
    else:
        return {name: value.encode("utf-8").decode("latin-1") for name, value in HEADERS[turn % len(HEADERS)].items()}
    return {}
