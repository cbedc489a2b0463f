"""The command line: which commands there are, in the order in which a newcomer needs them."""

import inspect
from typing import Annotated

import typer
from quiclens_schema.version import VERSION

from quiclens_api.commands.audit import audit
from quiclens_api.commands.check import check
from quiclens_api.commands.demo import demo
from quiclens_api.commands.erase import erase
from quiclens_api.commands.explain import explain
from quiclens_api.commands.export import export
from quiclens_api.commands.failed import failed
from quiclens_api.commands.ingest import ingest
from quiclens_api.commands.lines import lines
from quiclens_api.commands.link import link
from quiclens_api.commands.load import load
from quiclens_api.commands.migrate import migrate
from quiclens_api.commands.report import report
from quiclens_api.commands.retention import retention
from quiclens_api.commands.serve import serve
from quiclens_api.commands.slow import slow
from quiclens_api.commands.status import status
from quiclens_api.commands.watch import watch

_HELP = """Why was this HTTP/3 request slow? Ask your servers' QUIC event logs.

\b
quiclens demo                                      see it on simulated traffic
quiclens load /var/log/quic --requests access.log  load your own
quiclens slow --by carrier                         find the slow ones
quiclens explain REQUEST_ID                        and why
"""


def _say_version(is_asked: bool) -> None:
    if is_asked:
        print(f"quiclens {VERSION}")
        raise typer.Exit


def create_app() -> typer.Typer:
    """The app with all its commands; importing this module registers nothing."""
    app = typer.Typer(
        help=_HELP,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    commands = (
        demo,
        load,
        slow,
        explain,
        export,
        report,
        failed,
        watch,
        check,
        status,
        audit,
        serve,
        ingest,
        lines,
        link,
        retention,
        erase,
        migrate,
    )
    app.callback()(_of_all_commands)
    for command in commands:
        app.command(help=_unwrapped(inspect.cleandoc(command.__doc__ or "")))(command)
    return app


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
