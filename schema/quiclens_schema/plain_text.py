"""Text that a log may hold, made harmless for where it is shown: a terminal, a spreadsheet, Markdown.

All that is written for people goes through here. JSON has every value as it is, with the same characters escaped.
"""

import dataclasses
import logging
import re
import sys
from collections.abc import Mapping
from typing import Any, TypeVar

T = TypeVar("T")

# C0, DEL and C1 (Unicode's Cc), both line separators, and what turns the direction of writing: UAX #9, section 2.
_CONTROL = "\x00-\x1f\x7f-\x9f\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_IN_A_LINE = re.compile(f"[{_CONTROL}]")
_IN_LINES = re.compile(f"(?!\n|\r\n)[{_CONTROL}]")
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
# https://owasp.org/www-community/attacks/CSV_Injection
_FORMULA = re.compile(r"^[=+\-@\t\r]")
# All ASCII punctuation may be escaped so: CommonMark 0.31, section 2.4.
# Those that are markup within a line, what names somebody, and what GFM makes a link of by itself (0.29, section 6.9).
_MARKUP = re.compile(r"[\\`*_\[\]<>#|~@]|:(?=//)|(?<=www)\.", re.IGNORECASE)
_PUNCTUATION = re.compile(r"[!-/:-@\[-`{-~]")


def printable(text: str) -> str:
    """One line, every control character as an escape that can be read: `\\x1b`, `\\u202e`, `\\n`."""
    return _IN_A_LINE.sub(_escape, text)


def printable_lines(text: str) -> str:
    """The same for text of several lines: ends of lines stay."""
    return _IN_LINES.sub(_escape, text)


def all_printable(value: T) -> T:
    """The same value, every text in it printable: of mappings, sequences and dataclasses, names of keys too."""
    return _all_printable(value)  # type: ignore[no-any-return]


def json_for_terminal(text: str) -> str:
    """A JSON text that has the same values, and no character that a terminal obeys."""
    return _IN_LINES.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def csv_cell(text: str) -> str:
    """A text that a spreadsheet takes as text: an apostrophe stands before what would be a formula."""
    return f"'{printable(text)}" if _FORMULA.match(text) else printable(text)


def markdown_cell(text: str) -> str:
    """A text in a line of Markdown that is no markup, HTML or link."""
    return _PUNCTUATION.sub(r"\\\g<0>", printable(text))


def markdown_text(text: str) -> str:
    """The same within a line, where most punctuation is nothing: what is pasted where no Markdown is known stays
    readable."""
    return _MARKUP.sub(r"\\\g<0>", printable(text))


def markdown_link(name: str, page: str) -> str:
    """A name that leads to a page, or, where there is none, as code; backticks would end that."""
    return f"[{markdown_text(name)}]({page})" if page else f"`{printable(name).replace('`', '')}`"


class LogFormatter(logging.Formatter):
    """Lines of a log: one for each record, and for each line of a traceback."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 (the library's name)
        record.message = printable(record.message)
        return super().formatMessage(record)

    def formatException(self, ei: Any) -> str:  # noqa: N802 (the library's name)
        return printable_lines(super().formatException(ei))


def log_to_stderr() -> None:
    """Ours from INFO on, and warnings of libraries, go to standard error, a line each, without a time of their own."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(LogFormatter("%(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    logging.getLogger("quiclens").setLevel(logging.INFO)


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    code = ord(character)
    return _SHORT.get(character) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")


def _all_printable(value: Any) -> Any:
    if isinstance(value, str):
        return printable(value) if _IN_A_LINE.search(value) else value
    if isinstance(value, Mapping):
        return {_all_printable(name): _all_printable(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_all_printable(item) for item in value]
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return tuple(_all_printable(item) for item in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {each.name: getattr(value, each.name) for each in dataclasses.fields(value) if each.init}
        return dataclasses.replace(value, **{name: _all_printable(item) for name, item in fields.items()})
    return value
