"""Who runs what the documents show: `documents.toml`, as types."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

from document_items import Form, Item, items

_TABLE = Path(__file__).with_name("documents.toml")


@dataclass(frozen=True)
class History:
    """A page that says what was: nothing on it is run."""

    page: str
    reason: str


@dataclass(frozen=True)
class Kind:
    """All items of a kind that no other entry names: `test` runs each of them, or checks it as `only_checked` says."""

    kind: str
    test: str
    form: Form | None = None
    only_checked: str = ""

    def covers(self, item: Item) -> bool:
        return item.kind == self.kind and self.form in (None, item.form)


@dataclass(frozen=True)
class Shown:
    """Items of a page, by how they begin."""

    page: str  # a pattern of paths
    begins: str = ""
    kind: str = ""

    def covers(self, item: Item) -> bool:
        is_of_kind = self.kind in ("", item.kind)
        return is_of_kind and fnmatch(item.page, self.page) and item.text.startswith(self.begins)


@dataclass(frozen=True)
class RunBy(Shown):
    """`test` reads the item from its page and runs it, or checks it as `only_checked` says; `reads` stands in that
    test, and tells that it reads this page or this block of it."""

    test: str = ""
    reads: str = ""
    only_checked: str = ""


@dataclass(frozen=True)
class NotRun(Shown):
    """Nobody runs it here; the page says so, and why."""

    reason: str = ""


@dataclass(frozen=True)
class Table:
    """The whole of `documents.toml`."""

    history: Sequence[History]
    kinds: Sequence[Kind]
    run_by: Sequence[RunBy]
    not_run: Sequence[NotRun]

    def exact(self, item: Item) -> list[RunBy | NotRun]:
        entries: list[RunBy | NotRun] = [*self.run_by, *self.not_run]
        return [each for each in entries if each.covers(item)]

    def covering(self, item: Item) -> list[RunBy | NotRun | Kind]:
        """What covers an item; there is to be one."""
        return [*self.exact(item)] or [each for each in self.kinds if each.covers(item)]


@cache
def table() -> Table:
    """What the file says; a key that it may not have is an error."""
    read = tomllib.loads(_TABLE.read_text(encoding="utf-8"))
    return Table(
        [History(**each) for each in read.pop("history")],
        [Kind(**each) for each in read.pop("kinds")],
        [RunBy(**each) for each in read.pop("run_by")],
        [NotRun(**each) for each in read.pop("not_run")],
        **read,
    )


@cache
def present() -> tuple[Item, ...]:
    """All items but those of history."""
    past = {each.page for each in table().history}
    return tuple(item for item in items() if item.page not in past)


def left_to(kind: str, form: Form | None = None) -> list[Item]:
    """What the test of a kind has to run."""
    found = [item for item in present() if item.kind == kind and form in (None, item.form)]
    return [item for item in found if not table().exact(item)]
