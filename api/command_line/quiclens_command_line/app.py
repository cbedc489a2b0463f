"""The command line: which commands there are, in the order in which a newcomer needs them."""

import ast
import inspect
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer
from quiclens_schema.version import VERSION

from quiclens_command_line.completing import words_to_complete

COMMANDS = (
    "demo",
    "load",
    "slow",
    "explain",
    "export",
    "report",
    "failed",
    "triage",
    "check",
    "diff",
    "status",
    "audit",
    "serve",
    "ingest",
    "lines",
    "link",
    "retention",
    "erase",
    "migrate",
)
"""Each is the function of its name in the module of its name in `commands`."""

_HELP = """Why was this HTTP/3 request slow? Ask your servers' QUIC event logs.

\b
quiclens demo                                      see it on simulated traffic
quiclens load /var/log/quic --requests access.log  load your own
quiclens triage                                    what has become worse
quiclens slow --by carrier                         find the slow ones
quiclens explain REQUEST_ID                        and why
"""


def _say_version(is_asked: bool) -> None:
    if is_asked:
        print(f"quiclens {VERSION}")
        raise typer.Exit


def create_app(given: Sequence[str]) -> typer.Typer:
    """The app for this command line. Of the commands it imports the one that is given: what all of them need takes
    seconds. Help is plain: Rich, which would frame it, takes longer to import than all else that help needs."""
    app = typer.Typer(
        help=_HELP,
        no_args_is_help=True,
        add_completion=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_of_all_commands)
    chosen = next((word for word in words_to_complete() or given if not word.startswith("-")), "")
    for name in COMMANDS:
        if name == chosen:
            command = _command(name)
            app.command(name, help=_unwrapped(inspect.cleandoc(command.__doc__ or "")))(command)
        else:
            app.command(name, short_help=_unwrapped(_told(name)).partition("\n")[0])(_not_chosen)
    return app


def _command(name: str) -> Callable[..., int]:
    function: Callable[..., int] = getattr(import_module(f"quiclens_command_line.commands.{name}"), name)
    return function


def _told(name: str) -> str:
    """What a command's function says of itself, without importing it."""
    text = (Path(__file__).parent / "commands" / f"{name}.py").read_text(encoding="utf-8")
    (found,) = (node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef) and node.name == name)
    return ast.get_docstring(found) or ""


def _not_chosen() -> None:
    """In the place of a command whose name stands in the list alone."""


def _of_all_commands(
    version: Annotated[
        bool, typer.Option("--version", help="Say which version this is.", callback=_say_version, is_eager=True)
    ] = False,
) -> None:
    """What stands before a command."""


def _unwrapped(text: str) -> str:
    """Each paragraph on one line, for the terminal to wrap; a paragraph after a line with \\b keeps its lines."""
    paragraphs = [each if each.startswith("\b") else " ".join(each.splitlines()) for each in text.split("\n\n")]
    return "\n\n".join(paragraphs)
