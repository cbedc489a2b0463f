"""The `quiclens` command: runs one command and turns every ending into its exit code."""

import sys
from collections.abc import Sequence

import typer

from quiclens_api.app import create_app
from quiclens_api.failure import CANNOT_RUN, DONE, USAGE, Failure
from quiclens_api.output import print_document, say

_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 0 done, 1 nothing found or partly rejected, 2 usage, 3 cannot run."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    as_json = "--json" in given
    try:
        code = create_app()(given, prog_name="quiclens", standalone_mode=False)
        return code if isinstance(code, int) else DONE
    except typer.TyperException as mistake:
        if not mistake.format_message():  # no command at all: the help was printed
            return USAGE
        return _stop(Failure("usage", mistake.format_message(), _help_for(given)), USAGE, as_json)
    except Failure as failure:
        return _stop(failure, failure.exit_code, as_json)
    except (KeyboardInterrupt, typer.Abort):
        say("interrupted")
        return _INTERRUPTED
    except OSError as error:
        return _stop(Failure("cannot_read", f"{error}"), CANNOT_RUN, as_json)


def _stop(failure: Failure, code: int, as_json: bool) -> int:
    """One document for programs, one message for people."""
    if as_json:
        print_document(failure.document())
    say(f"quiclens: {failure.message}" + (f"\n  {failure.hint}" if failure.hint else ""))
    return code


def _help_for(given: Sequence[str]) -> str:
    command = next((word for word in given if not word.startswith("-")), "")
    return f"quiclens {command} --help".replace("  ", " ")


if __name__ == "__main__":
    sys.exit(main())
