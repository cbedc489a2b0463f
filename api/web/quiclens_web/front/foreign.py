"""Reading what a stranger wrote. Each reader answers None for what it does not take, and none raises.

Python's own readers raise more than one expects: `urlsplit` a ValueError for brackets, `int` one for 5,000 digits or
for digits of other scripts, `json` a RecursionError for what nests too deep, and a codec whatever it likes.
"""

import json
from collections.abc import Mapping
from urllib.parse import SplitResult, unquote_to_bytes, urlsplit

from python_multipart.multipart import parse_options_header

_DIGITS = 18  # of a number that fits into 64 bits whatever it is
_CHARSETS = frozenset({"utf-8", "utf8", "us-ascii", "ascii"})


def address(text: str) -> SplitResult | None:
    """The parts of an address."""
    try:
        return urlsplit(text)
    except ValueError:
        return None


def whole_number(text: str, most_digits: int = _DIGITS) -> int | None:
    """A number of ASCII digits, at most so many of them."""
    if not (text.isascii() and text.isdigit() and len(text) <= most_digits):
        return None
    return int(text)


def declared_bytes(headers: Mapping[str, str]) -> int:
    """How long a body says that it is; 0 where it does not say. What it has is counted as it comes."""
    return whole_number(headers.get("content-length", "")) or 0


def json_object(text: bytes) -> dict[str, object] | None:
    """A JSON object whose texts are Unicode: JSON may have half a pair of surrogates, which nobody else takes."""
    try:
        found = json.loads(text)
        json.dumps(found, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def is_utf8_query(text: bytes) -> bool:
    """Whether a query is UTF-8 (the URL Standard, "application/x-www-form-urlencoded parsing"): what reads it later
    would put another letter where it is not."""
    try:
        unquote_to_bytes(text).decode()
    except UnicodeDecodeError:
        return False
    return True


def is_of_known_charset(content_type: str) -> bool:
    """Whether a form is in UTF-8 or ASCII, or does not say. Python has codecs that are not of text at all, and some
    whose text no other codec takes."""
    _, options = parse_options_header(content_type)
    given = options.get(b"charset", b"utf-8").decode("latin-1")
    return given.strip().lower() in _CHARSETS
