"""Answers in pieces: each piece that the engine gives is a document of its own, and one answer is one document.

A format is given in one of three ways. Pieces of `PLAIN` formats follow each other as they are. Pieces of `HEADED` ones
have the same header each, which all but the first lose. For every other format the rows are collected up to a number of
bytes, as `ROWS`, and written once, whole, within the statement's memory and time: how large a text becomes is then
bounded by how large its rows are. Of what an answer's text takes, the engine does not count all as memory.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from quiclens_web.front.faults import Fault


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Not RawBLOB: an empty text is no byte there, and the engine's binding takes a piece without bytes for the end.
PLAIN = _names(
    """
    native rowbinary tabseparated tsv tabseparatedraw tsvraw raw csv tskv jsoneachrow jsonlines jsonl ndjson
    jsonstringseachrow jsoncompacteachrow jsoncompactstringseachrow msgpack lineasstring null
    """
)
_DELIMITERS = (",", ";", "|", "\t", "\\t", " ", ":")
_REPEAT_NAMES = _names("json jsonstrings xml vertical prettyjsoneachrow")
ROWS = "RowBinaryWithNamesAndTypes"


def _lines(count: int) -> Callable[[bytes], int]:
    """A header of lines in which no name has a line feed of its own."""

    def length(piece: bytes) -> int:
        at = 0
        for _ in range(count):
            at = piece.index(b"\n", at) + 1
        return at

    return length


def _quoted_lines(count: int) -> Callable[[bytes], int]:
    """A header of CSV: a line feed within quotes belongs to a name."""

    def length(piece: bytes) -> int:
        begin = at = 0
        for _ in range(count):
            while True:
                at = piece.index(b"\n", at) + 1
                if piece.count(b'"', begin, at) % 2 == 0:
                    break
            begin = at
        return at

    return length


def _texts(for_each_column: int) -> Callable[[bytes], int]:
    """A header of RowBinary: the number of columns, then so many texts for each, with their lengths (LEB128)."""

    return lambda piece: _header_texts(piece, for_each_column)[1]


def _header_texts(piece: bytes, for_each_column: int) -> tuple[list[bytes], int]:
    """The texts of such a header, and how many bytes it has."""
    columns, at = _number(piece, 0)
    texts = []
    for _ in range(columns * for_each_column):
        size, at = _number(piece, at)
        texts.append(piece[at : at + size])
        at += size
    return texts, at


def _number(data: bytes, at: int) -> tuple[int, int]:
    found = shift = 0
    while True:
        byte = data[at]
        at += 1
        found |= (byte & 0x7F) << shift
        if byte < 0x80:
            return found, at
        shift += 7


HEADED: dict[str, Callable[[bytes], int]] = {
    "tsvwithnames": _lines(1),
    "tabseparatedwithnames": _lines(1),
    "tsvwithnamesandtypes": _lines(2),
    "tabseparatedwithnamesandtypes": _lines(2),
    "csvwithnames": _quoted_lines(1),
    "csvwithnamesandtypes": _quoted_lines(2),
    "jsoncompacteachrowwithnames": _lines(1),
    "jsoncompacteachrowwithnamesandtypes": _lines(2),
    "rowbinarywithnames": _texts(1),
    "rowbinarywithnamesandtypes": _texts(2),
}
"""How many bytes the header of a piece has, by the format's name."""


def is_streamed(format: str, settings: Mapping[str, str]) -> bool:
    """Whether pieces of a format can be joined. Where line feeds or quotes part the fields of CSV, nobody can tell
    where its header ends."""
    name = format.lower()
    has_odd_delimiter = settings.get("format_csv_delimiter", ",").strip("'") not in _DELIMITERS
    return name in PLAIN or (name in HEADED and not (name.startswith("csv") and has_odd_delimiter))


class Joined:
    """Makes one document of the pieces of one answer."""

    def __init__(self, format: str) -> None:
        self._header = HEADED.get(format.lower())
        self._is_first = True

    def next(self, piece: bytes) -> bytes:
        """What of this piece belongs into the answer."""
        if self._header is None or self._is_first or not piece:
            self._is_first = False
            return piece
        return piece[self._header(piece) :]


class Collected:
    """The rows of one answer, of at most so many bytes; Fault 396 when there are more.

    Names of columns count with each row in formats that repeat them there, and types whose values are written with
    names of their own, which a row has but a byte or nothing for. Of two columns of one name, which have one value, the
    first is kept, and `selected` names it twice.
    """

    def __init__(self, most: int, format: str) -> None:
        self._most = most
        self._format = format
        self._pieces: list[bytes] = []
        self._size = 0
        self._of_each_row = 0
        self._header = _Header((), ())

    def add(self, piece: bytes, rows: int) -> None:
        """One piece of `ROWS`, and how many rows it has."""
        if not self._pieces:
            self._header = header = _Header.read(piece)
            if (wrong := next((each for each in header.types if _HAS_NO_BYTES.search(each)), "")) != "":
                message = f"A column of the type {wrong[:80]} cannot be given in the format {self._format}; cast it"
                raise Fault(48, "NOT_IMPLEMENTED", message)
            names = header.names if self._format.lower() in _REPEAT_NAMES else ()
            named = (each for each in header.types if _HAS_NAMES.search(each))
            self._of_each_row = sum(map(len, names)) + sum(map(len, named))
            self._pieces.append(header.of_unique_names().written())
        self._size += len(piece) + self._of_each_row * rows
        if self._size > self._most:
            hint = "take one whose rows follow each other (CSVWithNames, JSONEachRow, Native, …), or fewer rows"
            message = f"An answer in the format {self._format} has at most {self._most:,} bytes of rows; {hint}"
            raise Fault(396, "TOO_MANY_ROWS_OR_BYTES", message)
        self._pieces.append(piece[HEADED[ROWS.lower()](piece) :])

    def rows(self) -> bytes:
        """All of it as one document of `ROWS`; empty when there was no row."""
        return b"".join(self._pieces)

    @property
    def selected(self) -> str:
        """What is selected of `rows`, in SQL: everything, under its own name."""
        names, unique = self._header.names, self._header.of_unique_names().names
        if names == unique:
            return "*"
        return ", ".join(f"{unique[names.index(name)]} AS {_identifier(name)}" for name in names)


_HAS_NO_BYTES = re.compile(r"Tuple\(\)|(?<!Nullable\()Nothing")
_HAS_NAMES = re.compile("Enum|Tuple|Nested|Object|JSON|Dynamic|Variant")


@dataclass(frozen=True, slots=True)
class _Header:
    """The beginning of a document of `ROWS`."""

    names: tuple[str, ...]
    types: tuple[str, ...]

    @classmethod
    def read(cls, piece: bytes) -> "_Header":
        """The header of a piece. Names that are no UTF-8 come back as they were when written."""
        texts = tuple(text.decode("utf-8", "surrogateescape") for text in _header_texts(piece, 2)[0])
        return cls(texts[: len(texts) // 2], texts[len(texts) // 2 :])

    def of_unique_names(self) -> "_Header":
        """The same columns, each with a name that it can be selected by."""
        if len(set(self.names)) == len(self.names) and all(map(_is_text, self.names)):
            return self
        return _Header(tuple(f"column_{place}" for place in range(len(self.names))), self.types)

    def written(self) -> bytes:
        out = bytearray(_leb128(len(self.names)))
        for text in (*self.names, *self.types):
            data = text.encode("utf-8", "surrogateescape")
            out += _leb128(len(data)) + data
        return bytes(out)


def _leb128(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def _is_text(name: str) -> bool:
    return name.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in name)


def _identifier(name: str) -> str:
    name = name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return "`" + name.replace("\\", "\\\\").replace("`", "\\`") + "`"
