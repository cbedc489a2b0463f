"""What a shell offers at Tab: names of columns, causes and reports. Nothing is asked of a store.

typer writes the scripts and runs the command with the words so far in the environment.
"""

import os
from collections.abc import Iterable, Iterator

_ASKED = "_QUICLENS_COMPLETE"
_WORDS = ("COMP_WORDS", "_TYPER_COMPLETE_ARGS")  # of bash; of zsh and fish


def words_to_complete() -> list[str] | None:
    """The words behind `quiclens` on the line that a shell completes; None where no shell asks."""
    if _ASKED not in os.environ:
        return None
    os.environ["COLUMNS"] = "1000"  # typer folds a help at the width of the terminal, and a shell takes each line
    line = next((os.environ[name] for name in _WORDS if name in os.environ), "")
    return line.split()[1:]


def offered_columns(incomplete: str) -> list[str]:
    """Columns of requests; of `a,b` the last."""
    return list(_last(_columns(), incomplete))


def offered_groups(incomplete: str) -> list[str]:
    """Columns of requests, and what some reports can be asked by besides; of `a,b` the last."""
    from quiclens_questions.reports import REPORTS

    more = (name for kind in REPORTS.values() for name in kind.groups_of())
    return list(_last(dict.fromkeys([*_columns(), *more]), incomplete))


def offered_conditions(incomplete: str) -> list[str]:
    """Columns; a sign and a value follow, which nobody offers."""
    return list(_begun(_columns(), incomplete))


def offered_causes(incomplete: str) -> list[str]:
    """Causes that can be left out of a tail."""
    from quiclens_questions.savings import REMOVABLE

    return list(_begun(REMOVABLE, incomplete))


def offered_reports(incomplete: str) -> list[str]:
    """Names of reports."""
    from quiclens_questions.reports import REPORTS

    return list(_begun(REPORTS, incomplete))


def _columns() -> Iterable[str]:
    from quiclens_questions.where import request_columns

    return request_columns()


def _last(names: Iterable[str], incomplete: str) -> Iterator[str]:
    before, comma, last = incomplete.rpartition(",")
    return (before + comma + name for name in _begun(names, last))


def _begun(names: Iterable[str], incomplete: str) -> Iterator[str]:
    return (name for name in names if name.startswith(incomplete))
