"""Commands that a page prints, read from the page itself: who changes the page changes what is run.

A block is called by the comment above it, `<!-- block: NAME -->`. What stands behind three spaces or more in a line of
it says what the line is for, and is no part of the command.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from quiclens_lab.errors import LabError

_SAID = re.compile(r"(?<=\S) {3,}\S.*$")


def block(page: Path, name: str) -> list[str]:
    """The commands of the block of this name, in their order. LabError where the page has no such block, or two."""
    pattern = rf"^<!-- block: {re.escape(name)} -->\n+```[a-z]*\n(.*?)^```$"
    found = re.findall(pattern, page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    if len(found) != 1:
        raise LabError(f"{page.name} has {len(found)} blocks below <!-- block: {name} -->")
    lines = [_SAID.sub("", line).rstrip() for line in str(found[0]).splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


def inline(page: Path, has: str) -> str:
    """The one command in the text of a page, between backticks, that has these words. LabError where there is none, or
    more than one."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    found = [each for each in re.findall(r"`([^`\n]+)`", text) if has in each]
    if len(found) != 1:
        raise LabError(f"{page.name} has {len(found)} commands with `{has}` in its text")
    return str(found[0])


def substituted(commands: list[str], instead: Mapping[str, str]) -> list[str]:
    """The commands, those that begin as a key of `instead` replaced by its value. LabError where one of these replaces
    nothing: then the page has changed, and what is declared here is no longer true."""
    done = list(commands)
    for begin, other in instead.items():
        places = [at for at, command in enumerate(commands) if command.startswith(begin)]
        if len(places) != 1:
            raise LabError(f"{len(places)} commands of the page begin with {begin!r}, which is to be replaced")
        done[places[0]] = other
    return done
