"""The `quiclens` command: runs one command and turns every ending into its exit code."""

import errno
import os
import sys
from collections.abc import Sequence
from contextlib import suppress

# numpy comes with the ClickHouse client; without this it starts threads, which `serve` must not have before it is
# confined, and which nothing here needs.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import typer

from quiclens_command_line.app import create_app
from quiclens_command_line.entry import INTERRUPTED
from quiclens_command_line.output import AnswerPipe, print_document, say
from quiclens_questions.failure import CANNOT_RUN, DONE, USAGE, Failure


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 0 done, also where nobody reads the answer any more; 1 nothing found or partly rejected, 2 usage,
    3 cannot run."""
    given = several_access_logs(sys.argv[1:] if arguments is None else arguments)
    answers = AnswerPipe()
    try:
        return _run(given, answers)
    finally:
        answers.close()


def _run(given: Sequence[str], answers: AnswerPipe) -> int:
    as_json = "--json" in given
    try:
        code = create_app(given)(given, prog_name="quiclens", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else DONE
    except typer.TyperException as mistake:
        if not mistake.format_message():  # no command at all: the help was printed
            return USAGE
        return _stop(Failure("usage", mistake.format_message(), _help_for(given)), USAGE, as_json)
    except Failure as failure:
        return _stop(failure, failure.exit_code, as_json)
    except (KeyboardInterrupt, typer.Abort):
        say("interrupted")
        return INTERRUPTED
    except (OSError, SystemExit) as error:
        # typer and rich exit with 1 at a broken pipe, whatever it was.
        broken = error.__context__ if isinstance(error, SystemExit) else error
        if not isinstance(broken, OSError):
            raise
        if answers.has_no_reader():
            return DONE
        name = "disk_full" if broken.errno == errno.ENOSPC else "cannot_read"
        return _stop(Failure(name, f"{broken}"), CANNOT_RUN, as_json)


def several_access_logs(given: Sequence[str]) -> list[str]:
    """`load PATH… --requests A B` as `--requests A --requests B`, which is what the option parser knows.

    Only where a PATH stands before it: in `load --requests A PATH` the second word is a PATH.
    """
    words: list[str] = []
    paths, is_listing = 0, False
    for word in given:
        if is_listing and not word.startswith("-") and words[-1] != "--requests":
            words.append("--requests")
        if word.startswith("-"):
            is_listing = word == "--requests" and paths > 0
        elif not words or not words[-1].startswith("-"):
            paths += bool(words)  # the first word is the command
        words.append(word)
    return words if list(given[:1]) == ["load"] else list(given)


def _stop(failure: Failure, code: int, as_json: bool) -> int:
    """One document for programs, one message for people; the exit code is there also where nobody reads them."""
    if as_json:
        with suppress(BrokenPipeError):
            print_document(failure.document())
    say(f"quiclens: {failure.message}")
    if failure.hint:
        say(f"  {failure.hint}")
    return code


def _help_for(given: Sequence[str]) -> str:
    command = next((word for word in given if not word.startswith("-")), "")
    return f"quiclens {command} --help".replace("  ", " ")
