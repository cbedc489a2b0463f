"""Where words go: the answer to stdout, everything else to stderr. None has a control character but ends of lines."""

import os
import select
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from io import StringIO
from typing import TYPE_CHECKING, Any

from quiclens_schema.plain_text import printable, printable_lines

from quiclens_questions.document import document_text

if TYPE_CHECKING:
    # Imported where it is used: a document for programs, and help, do without.
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

_PIPE_WIDTH = 160  # columns where nobody says how wide the screen is


class AnswerPipe:
    """Where answers go: standard output as this process was given it. A reader that has gone, as `head` when it has
    enough, is told by the pipe itself: a broken pipe may be another one, and rich puts a file in its place."""

    def __init__(self) -> None:
        try:
            self._kept = os.dup(1)
        except OSError:  # there is none
            self._kept = -1

    def has_no_reader(self) -> bool:
        if self._kept < 0:
            return False
        asked = select.poll()
        asked.register(self._kept, 0)
        return any(told & select.POLLERR for _, told in asked.poll(0))

    def close(self) -> None:
        """Forget it; what is left to be written to a reader that has gone is dropped, now and when Python ends."""
        if self._kept < 0:
            return
        if self.has_no_reader():
            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, 1)
            os.close(nothing)
        os.close(self._kept)


def print_document(document: Mapping[str, Any]) -> None:
    _utf8()
    sys.stdout.write(document_text(document) + "\n")
    sys.stdout.flush()


def print_text(text: str) -> None:
    _utf8()
    sys.stdout.write(printable_lines(text))
    sys.stdout.flush()


def print_human(*parts: "RenderableType") -> None:
    from rich.console import Console

    _utf8()
    is_seen = sys.stdout.isatty()
    out = sys.stdout if is_seen else StringIO()
    width = None if is_seen else _PIPE_WIDTH
    console = Console(file=out, highlight=False, markup=False, emoji=False, width=width)
    for part in parts:
        # Tables are as wide as they are in a pipe, where nobody wants to have them cut or filled with spaces; a text
        # that must not be wrapped, as a command that is to be copied, is never cut.
        console.print(_Printable(part), crop=is_seen and not getattr(part, "no_wrap", False))
    if isinstance(out, StringIO):
        sys.stdout.write("".join(line.rstrip(" ") + "\n" for line in out.getvalue().splitlines()))


def answer(as_json: bool, document: Mapping[str, Any], *human: "RenderableType") -> None:
    """Print the answer once, in the form that was asked for."""
    if as_json:
        print_document(document)
    else:
        print_human(*human)


def say(message: str) -> None:
    """A line for the person who waits; never part of the answer. Where nobody reads such lines, the work goes on."""
    with suppress(BrokenPipeError):
        print(printable(message), file=sys.stderr, flush=True)


def errors() -> "Console":
    from rich.console import Console

    return Console(stderr=True, highlight=False, markup=False, emoji=False)


class _Printable:
    """What the console makes of a part, without a control character that came from data; its own colours stay."""

    def __init__(self, part: "RenderableType") -> None:
        self._part = part

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "Iterator[Segment]":
        from rich.segment import Segment

        part = console.render_str(printable(self._part)) if isinstance(self._part, str) else self._part
        for segment in console.render(part, options):
            yield Segment(printable_lines(segment.text), segment.style)


def _utf8() -> None:
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(encoding="utf-8", errors="replace")
