"""The manual page `quiclens.1`, of what the commands say of themselves: `python -m quiclens_command_line.man_page`."""

import re
from collections.abc import Iterable, Iterator

import typer
from quiclens_schema.version import VERSION
from typer.core import TyperGroup

from quiclens_command_line.app import COMMANDS, create_app

_EXIT_CODES = (
    ("0", "done; also where nobody reads the answer any more"),
    ("1", "nothing found, or partly rejected"),
    ("2", "the command was not understood"),
    ("3", "it cannot run: no store, no permission, no room"),
    ("130", "interrupted"),
)
_FILES_AND_ENVIRONMENT = (
    ("QUICLENS_STORE", "where the data are, if --store does not say"),
    ("QUICLENS_EXPECT", "which servers must send, if --expect does not say"),
    ("QUICLENS_COLLECTOR", "the program quiclens-collector, if it is not beside quiclens or on the PATH"),
)


def man_page() -> str:
    """In the macros of man(7)."""
    whole = typer.main.get_command(create_app([]))
    lines = [f'.TH QUICLENS 1 "" "quiclens {VERSION}" "User Commands"', ".SH NAME"]
    lines += [r"quiclens \- why was this HTTP/3 request slow?", ".SH SYNOPSIS", ".B quiclens", ".I COMMAND"]
    lines += ["[OPTIONS]", ".SH DESCRIPTION", *_paragraphs(whole.help or "")]
    lines += ["Every command takes", r".BR \-\-help .", ".SH COMMANDS"]
    for name in COMMANDS:
        lines += _command(name)
    lines += [".SH EXIT STATUS", *_tagged(_EXIT_CODES), ".SH ENVIRONMENT", *_tagged(_FILES_AND_ENVIRONMENT)]
    return "\n".join(lines) + "\n"


def _command(name: str) -> Iterator[str]:
    group = typer.main.get_command(create_app([name]))
    assert isinstance(group, TyperGroup)
    command = group.commands[name]
    context = group.context_class(command, info_name=f"quiclens {name}")
    yield f".SS {_escaped(command.get_usage(context).removeprefix('Usage: '))}"
    yield from _paragraphs(command.help or "")
    records = (each.get_help_record(context) for each in command.params)
    yield from _tagged([record for record in records if record])


def _tagged(pairs: Iterable[tuple[str, str]]) -> Iterator[str]:
    for term, text in pairs:
        yield from (".TP", f".B {_escaped(term)}", *_text(text))


def _paragraphs(text: str) -> Iterator[str]:
    """Paragraphs are filled; one that begins with \\b keeps its lines, as in the help."""
    for paragraph in text.split("\n\n"):
        yield ".PP"
        if paragraph.startswith("\b"):
            yield from (".nf", ".RS", *_text(paragraph.removeprefix("\b\n")), ".RE", ".fi")
        else:
            yield from _text(paragraph)


def _text(text: str) -> Iterator[str]:
    for line in text.splitlines():
        written = _escaped(line)
        yield rf"\&{written}" if written.startswith((".", "'")) else written


def _escaped(text: str) -> str:
    """No character of a text is a request of troff."""
    text = text.replace("\\", r"\e").replace("-", r"\-").replace("…", "...")
    return re.sub(r"  +\[", " [", text)


if __name__ == "__main__":
    print(man_page(), end="")
