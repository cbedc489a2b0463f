"""Statements as text, without understanding them: words, and the settings they set.

Safety rests on nothing here that the engine could read differently: `gate` looks at words of the engine's own
rendering of a statement.
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


def words(text: str) -> Iterator[Word]:
    """Words in order, gaps and comments left out."""
    for match in _WORD.finditer(text):
        kind = match.lastgroup or "symbol"
        kind = "heredoc" if kind == "tag" else kind
        if kind != "gap":
            found = match[0]
            yield Word(kind, _unquoted(found) if kind == "quoted" else found, match.start(), match.end())


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


def _unquoted(text: str) -> str:
    inside, quote = text[1:-1], text[0]
    return re.sub(r"\\(.)", r"\1", inside.replace(quote * 2, quote))
