"""Query parameters that an address does not know are a mistake, not something to pass over."""

from collections.abc import Collection, Iterable
from difflib import get_close_matches

from quiclens_web.front.problems import Stopped


def refuse_unknown(given: Iterable[str], known: Collection[str], names_all: bool = False) -> None:
    """Stopped where one is given that the address does not take. The hint has the one that was meant, else all, or,
    `names_all`, both."""
    for name in given:
        if name not in known:
            hint = _hint(name, known, names_all)
            raise Stopped("unknown_parameter", f"there is no parameter {name[:100]!r} here", hint)


def _hint(name: str, known: Collection[str], names_all: bool) -> str:
    if not known:
        return "this address takes none"
    near, every = get_close_matches(name, known, 1), ", ".join(sorted(known))
    if names_all:
        return f"{near[0]}? This page takes {every}" if near else f"this page takes {every}"
    return f"{near[0]}?" if near else f"one of {every}"
