"""Answers in pieces: each piece that the engine gives is a document of its own, and one answer is one document.

A format is given in one of three ways. Pieces of `PLAIN` formats follow each other as they are. Pieces of `HEADED` ones
have the same header each, which all but the first lose. For every other format the rows are collected up to a number of
bytes, as `ROWS`, and written once, whole: how large a text becomes is then bounded by how large its rows are. The
engine bounds neither, since it does not count the text of an answer as memory of its query.
"""

from collections.abc import Callable

from quiclens_api.serve.faults import Fault


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


PLAIN = _names(
    """
    native rowbinary tabseparated tsv tabseparatedraw tsvraw raw csv tskv jsoneachrow jsonlines jsonl ndjson
    jsonstringseachrow jsoncompacteachrow jsoncompactstringseachrow msgpack lineasstring rawblob null
    """
)
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

    def length(piece: bytes) -> int:
        columns, at = _number(piece, 0)
        for _ in range(columns * for_each_column):
            size, at = _number(piece, at)
            at += size
        return at

    return length


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


def is_streamed(format: str) -> bool:
    return format.lower() in PLAIN or format.lower() in HEADED


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
    """The rows of one answer, of at most so many bytes; Fault 396 when there are more. In formats that repeat the names
    of columns with each row, names count with each row."""

    def __init__(self, most: int, format: str) -> None:
        self._most = most
        self._format = format
        self._joined = Joined(ROWS)
        self._pieces: list[bytes] = []
        self._size = 0
        self._names = 0

    def add(self, piece: bytes, rows: int) -> None:
        """One piece of `ROWS`, and how many rows it has."""
        if not self._pieces and self._format.lower() in _REPEAT_NAMES:
            self._names = HEADED["rowbinarywithnames"](piece)
        self._size += len(piece) + self._names * rows
        if self._size > self._most:
            hint = "take one whose rows follow each other (CSVWithNames, JSONEachRow, Native, …), or fewer rows"
            message = f"An answer in the format {self._format} has at most {self._most:,} bytes of rows; {hint}"
            raise Fault(396, "TOO_MANY_ROWS_OR_BYTES", message)
        self._pieces.append(self._joined.next(piece))

    def rows(self) -> bytes:
        """All of it as one document of `ROWS`; empty when there was no row."""
        return b"".join(self._pieces)
