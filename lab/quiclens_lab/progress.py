"""A progress bar for people, on stderr, only when that is a terminal."""

import sys

from quiclens_schema.plain_text import printable_lines

WIDTH = 30


def show(done: int, total: int) -> None:
    """Draw how much is done; nothing is written when nobody watches."""
    if not sys.stderr.isatty():
        return
    filled = WIDTH * done // max(total, 1)
    end = "\n" if done == total else ""
    bar = "#" * filled + "." * (WIDTH - filled)
    print(f"\r[{bar}] {done}/{total}", end=end, file=sys.stderr, flush=True)


def say(text: str) -> None:
    """A line for people."""
    print(printable_lines(text), file=sys.stderr, flush=True)
