"""quiclens diff"""

from pathlib import Path
from typing import Annotated

import typer

from quiclens_command_line.commands.options import AsJson
from quiclens_command_line.output import answer, print_text
from quiclens_command_line.show.diff import diff_view
from quiclens_questions.collector import VANTAGES
from quiclens_questions.diff import diff as ask_diff
from quiclens_questions.diff_words import markdown as in_markdown
from quiclens_questions.failure import DONE, NOTHING_FOUND, usage


def diff(
    old: Annotated[Path, typer.Argument(metavar="OLD", help="Logs before a change: a folder, or a file.")],
    new: Annotated[Path, typer.Argument(metavar="NEW", help="Logs of the same work after it.")],
    vantage: Annotated[
        str, typer.Option("--vantage", metavar="SIDE", help="Whose logs: server, client; server if both have some.")
    ] = "",
    markdown: Annotated[bool, typer.Option("--markdown", help="Print a comment for a pull request.")] = False,
    as_json: AsJson = False,
) -> int:
    """Compare two folders of QUIC logs: is anything slower, and which cause grew.

    For the continuous integration of a QUIC stack: run the same transfers before and after a change, keep their qlogs
    in two folders. Files of the same name with the same requests are paired, as of runs from the same seed; others are
    compared as two samples. Requests that did not end are left out, and counted. No store is opened.

    Exit code 0: nothing is slower beyond chance (one false alarm in a hundred comparisons at most). 1: the mean or a
    quantile of the durations grew, whatever others did; or causes grew and none shrank; or there are fewer than eight
    connections, too few to say.

    Examples:

    \b
    quiclens diff before/ after/
    quiclens diff before/ after/ --markdown > comment.md
    quiclens diff before/ after/ --vantage server --json
    """
    if vantage and vantage not in VANTAGES:
        raise usage(f"there is no side {vantage!r}", f"--vantage {', '.join(VANTAGES)}")
    found = ask_diff(old, new, vantage)
    if markdown and not as_json:
        print_text("\n".join(in_markdown(found)) + "\n")
    else:
        answer(as_json, found, *diff_view(found))
    is_any_slower = any(each["is_sure"] and each["us"] > 0 for each in found["durations"])
    return NOTHING_FOUND if is_any_slower or found["verdict"] in ("slower", "too_few") else DONE
