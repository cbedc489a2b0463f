"""Statements as text, without understanding them: words, the settings they set, and an INSERT apart from its data.

Safety rests on nothing here that the engine could read differently: `gate` looks at words of the engine's own
rendering of a statement, and what is split off as data is given to the engine as data.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_WORD = re.compile(
    r"""
      (?P<gap>      \s+ | --[^\n]* | \#[ !][^\n]* | /\*.*?(?:\*/|\Z) )
    | (?P<string>   '(?:[^'\\]|\\.|'')*+(?:'|\Z|\\\Z) )
    | (?P<quoted>   `(?:[^`\\]|\\.|``)*+(?:`|\Z|\\\Z) | "(?:[^"\\]|\\.|"")*+(?:"|\Z|\\\Z) )
    | (?P<heredoc>  \$(?P<tag>\w*+)\$.*?(?:\$(?P=tag)\$|\Z) )
    | (?P<word>     [A-Za-z_][A-Za-z0-9_]* )
    | (?P<number>   [0-9][0-9A-Za-z_.]* )
    | (?P<symbol>   . )
    """,
    re.VERBOSE | re.DOTALL,
)
# What is not closed goes on to the end: looking for the end again from each later place would take for ever.
_HEAD_BYTES = 262_144  # the engine's max_query_size; a statement's words are all before its data
_DATA_GAP = re.compile(rb"[ \t\f]*\r?\n?")


@dataclass(frozen=True, slots=True)
class Word:
    """One word: `kind` is word, quoted, string, heredoc, number or symbol; a quoted name's text is without quotes."""

    kind: str
    text: str
    start: int
    end: int

    @property
    def is_name(self) -> bool:
        return self.kind in ("word", "quoted")

    def is_keyword(self, keyword: str) -> bool:
        return self.kind == "word" and self.text.upper() == keyword


@dataclass(frozen=True, slots=True)
class Insert:
    """An INSERT whose rows come as data: the statement up to its format, the format, and the rows."""

    head: str
    format: str
    data: bytes

    @property
    def statement(self) -> str:
        """The statement without its data, as the engine parses it."""
        return f"{self.head} VALUES" if self.format == "Values" else f"{self.head} FORMAT {self.format}"


def words(text: str) -> Iterator[Word]:
    """Words in order, gaps and comments left out."""
    for match in _WORD.finditer(text):
        kind = match.lastgroup or "symbol"
        kind = "heredoc" if kind == "tag" else kind
        if kind != "gap":
            found = match[0]
            yield Word(kind, _unquoted(found) if kind == "quoted" else found, match.start(), match.end())


def split_insert(sql: bytes) -> Insert | None:
    """An INSERT … FORMAT x or INSERT … VALUES apart from its data; None for every other statement."""
    text = sql[:_HEAD_BYTES].decode("latin-1")  # one character per byte, so places are the same
    found = words(text)
    first = next(found, None)
    if first is None or not first.is_keyword("INSERT"):
        return None
    depth, before = 0, first
    for word in found:
        if word.kind == "symbol":
            depth += (word.text == "(") - (word.text == ")")
        elif depth == 0 and (word.is_keyword("SELECT") or word.is_keyword("WITH") or word.is_keyword("WATCH")):
            return None
        elif depth == 0 and word.is_keyword("VALUES"):
            return Insert(_head(sql, word.start), "Values", sql[word.end :])
        elif depth == 0 and before.is_keyword("FORMAT") and word.kind == "word":
            gap = _DATA_GAP.match(sql, word.end)
            return Insert(_head(sql, before.start), word.text, sql[gap.end() if gap else word.end :])
        before = word
    return None


def output_format(normal: Sequence[Word]) -> str:
    """The format that a statement itself asks for, empty when it leaves that to the request."""
    for before, word in zip(reversed(normal[:-1]), reversed(normal[1:]), strict=True):
        if before.kind == "word" and before.text == "FORMAT" and word.kind == "word":
            return word.text
    return ""


def settings_set(normal: Sequence[Word]) -> Iterator[tuple[str, str]]:
    """Names and values after each SETTINGS of a statement as the engine renders it."""
    for index, word in enumerate(normal):
        if word.kind != "word" or word.text != "SETTINGS":
            continue
        at = index + 1
        while at + 1 < len(normal) and normal[at].is_name and normal[at + 1].text == "=":
            value, end = _value(normal, at + 2)
            yield normal[at].text, value
            at = end + 1
            if end >= len(normal) or normal[end].text != ",":
                break


def _value(normal: Sequence[Word], at: int) -> tuple[str, int]:
    """A setting's value, and the place of what follows it."""
    depth, end = 0, at
    while end < len(normal):
        text = normal[end].text if normal[end].kind == "symbol" else ""
        if depth == 0 and end > at and (text in (",", ")") or normal[end].kind == "word"):
            break
        depth += (text in ("(", "[", "{")) - (text in (")", "]", "}"))
        end += 1
    return "".join(word.text for word in normal[at:end]), end


def _head(sql: bytes, end: int) -> str:
    return sql[:end].decode("utf-8").strip()


def _unquoted(text: str) -> str:
    inside, quote = text[1:-1], text[0]
    return re.sub(r"\\(.)", r"\1", inside.replace(quote * 2, quote))
