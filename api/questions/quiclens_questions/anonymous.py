"""A qlog without anybody in it: `export --anonymous`.

Nothing is looked for; what is known to say nothing of anybody is kept, and all else goes. Kept are numbers, the names
and words of qlog's own schemas (`anonymous_words.toml`), and the names of events that the catalogue has. Every other
text becomes hex digits of a keyed hash, so that two packets of one connection ID still have the same one; the key is
made for one export and thrown away. Wall clocks go too.
"""

import hmac
import json
import math
import re
import secrets
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import IO, Any

from quiclens_schema import catalogue

_RECORD_SEPARATOR = "\x1e"  # RFC 7464
_NUMBER = re.compile(r"-?\d{1,19}(\.\d{1,9})?")
_HEX = re.compile(r"[0-9a-fA-F]+")
_KEY_BYTES = 32


@dataclass(frozen=True, slots=True)
class AllowedWords:
    """What may stay, and what never does."""

    keys: frozenset[str]
    values: frozenset[str]
    numbers: frozenset[str]
    """Keys whose texts may be numbers, as old writers have them."""
    secret: frozenset[str]
    """Keys below which every text and number goes."""
    reasons: frozenset[str]
    """Texts of `reason` that may stay, though that key is secret."""
    clocks: frozenset[str]
    """Keys of wall clocks."""


@cache
def words() -> AllowedWords:
    """From the file beside this one and the catalogue."""
    document = tomllib.loads((files("quiclens_questions") / "anonymous_words.toml").read_text(encoding="utf-8"))
    known = catalogue.load()
    fields = [*known.fields, *known.frame_fields]
    leaves = {part for field in fields for path in field.at for part in path.split(".") if part}
    numbers = {path.rpartition(".")[2] for field in fields if field.kind not in ("word", "id") for path in field.at}
    events = {name for event in known.events for name in (event.name, *event.seen)}
    halves = {half for name in events for half in name.split(":")}
    return AllowedWords(
        keys=frozenset(document["keys"]) | leaves,
        values=frozenset(document["values"]) | events | halves,
        numbers=frozenset(document["numbers"]) | numbers,
        secret=frozenset(document["secret"]),
        reasons=frozenset(document["reasons"]),
        clocks=frozenset(document["clocks"]),
    )


class Anonymiser:
    """One export's; the same text becomes the same digits in all of it."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(_KEY_BYTES)
        self._words = words()

    def record(self, record: Any) -> Any:
        """An event; in the array form of old drafts its time may be a text."""
        if isinstance(record, list):
            return [self.value(each, "time") for each in record]
        # The collector wrote all times by the trace's clock; what a record says of its own is none of them.
        return self.value({key: value for key, value in record.items() if key != "time_format"})

    def value(self, value: Any, key: str = "") -> Any:
        """The value that stands under a key."""
        if isinstance(value, dict):
            return self._members(value)
        if isinstance(value, list):
            return [self.value(each, key) for each in value]
        if isinstance(value, str):
            return self._text(value, key)
        return value

    def _members(self, members: Mapping[str, Any]) -> dict[str, Any]:
        made = {}
        for key, value in members.items():
            if key in self._words.clocks:
                continue
            name = key if key in self._words.keys else f"x{self._digits(key, 15)}"
            # An event's `data` has what it says; a frame's has bytes.
            is_secret = key in self._words.secret and not (key == "data" and isinstance(value, dict))
            is_secret &= not (key == "reason" and isinstance(value, str) and value in self._words.reasons)
            made[name] = self._hidden(value) if is_secret else self.value(value, key)
        return made

    def _hidden(self, value: Any) -> Any:
        """Of a secret, its shape alone: lists and texts, numbers as 0."""
        if isinstance(value, dict):
            return {f"x{self._digits(key, 15)}": self._hidden(each) for key, each in value.items()}
        if isinstance(value, list):
            return [self._hidden(each) for each in value]
        if isinstance(value, str):
            return self._digits(value, len(value) if _HEX.fullmatch(value) else 16)
        return value if value is None or isinstance(value, bool) else 0

    def _text(self, text: str, key: str) -> str:
        if not text or text in self._words.values or (key in self._words.numbers and _NUMBER.fullmatch(text)):
            return text
        return self._digits(text, len(text) if _HEX.fullmatch(text) else 16)

    def _digits(self, text: str, count: int) -> str:
        """`count` hex digits: as many as a connection ID had, so that it stays one."""
        made = hmac.digest(self._key, text.encode("utf-8", "surrogatepass"), sha256).hex()
        return (made * (count // len(made) + 1))[:count]


def header_of(header: str, dialect: str) -> str:
    """The stored header of a trace without anybody in it, that is still of its dialect: what that is told by is the
    stack's own name."""
    made = Anonymiser().value(json.loads(header) if header else {})
    for path, pattern in _when(dialect).items():
        *above, last = path.split(".")
        if path == "event_fields" or pattern == "!":
            continue
        place = made
        for part in above:
            place = place.setdefault(part, {})
        place[last] = pattern.strip("*") or place.get(last, 0)
    return json.dumps(made)


def _finite(text: str) -> float | None:
    """A number that JSON can have and a float cannot is none."""
    return number if math.isfinite(number := float(text)) else None


def _nothing(_: str) -> None:
    return None


@cache
def _when(dialect: str) -> Mapping[str, str]:
    path = catalogue.catalogue_folder() / "dialects" / f"{dialect}.toml"
    if not path.is_file():
        return {}
    return {
        str(name): str(pattern) for name, pattern in tomllib.loads(path.read_text(encoding="utf-8"))["when"].items()
    }


def records(source: IO[bytes]) -> Iterator[bytes]:
    """Records of a sequence, one by one, each without anybody in it; the first is its header, which came so."""
    anonymiser = Anonymiser()
    for number, line in enumerate(source):
        text = line.decode("utf-8", "replace").strip(f"{_RECORD_SEPARATOR} \r\n")
        if not text:
            continue
        found = json.loads(text, parse_float=_finite, parse_constant=_nothing)
        made = found if number == 0 else anonymiser.record(found)
        yield f"{_RECORD_SEPARATOR}{json.dumps(made, separators=(',', ':'))}\n".encode()
