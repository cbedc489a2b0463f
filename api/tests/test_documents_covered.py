"""Every block, command, SQL and setting of every document is run by a test, or its page says why not."""

import re
from collections import Counter
from pathlib import Path

import pytest
from document_cover import Kind, NotRun, RunBy, left_to, present, table
from document_items import ROOT, Item, items, of_text

SAID = "Not executed by a test: "


def test_every_item_is_covered_by_one_entry() -> None:
    """A new block, command or setting fails here until `documents.toml` says who runs it."""
    found = {str(item): len(table().covering(item)) for item in present()}
    assert {name: entries for name, entries in found.items() if entries != 1} == {}


def test_no_entry_is_stale() -> None:
    entries: list[Kind | RunBy | NotRun] = [*table().kinds, *table().run_by, *table().not_run]
    used = [entry for item in present() for entry in table().covering(item)]
    assert [entry for entry in entries if entry not in used] == []
    assert {each.page for each in table().history} <= {item.page for item in items()}


def test_the_test_of_a_kind_runs_what_is_left_to_it() -> None:
    for kind in table().kinds:
        test = (ROOT / kind.test).read_text(encoding="utf-8")
        assert f'left_to("{kind.kind}"' in test, kind


@pytest.mark.parametrize("entry", table().run_by, ids=lambda entry: f"{entry.page} {entry.kind}{entry.begins}")
def test_another_test_reads_the_page(entry: RunBy) -> None:
    test = (ROOT / entry.test).read_text(encoding="utf-8")
    assert entry.reads and entry.reads in test
    name = Path(entry.page).name.replace("*", "")
    assert name in test, "it does not read that page"


@pytest.mark.parametrize("entry", table().not_run, ids=lambda entry: f"{entry.page} {entry.begins}")
def test_what_is_not_run_is_said_beside_it(entry: NotRun) -> None:
    assert entry.begins and "*" not in entry.page
    for item in present():
        if entry.covers(item):
            assert SAID + entry.reason in item.beside.replace("\n", " "), f"{item}: {item.beside}"


def test_nothing_is_said_to_be_not_run_that_is() -> None:
    """Each of those sentences is one of an entry."""
    said = Counter(
        page for page in {item.page for item in items()} for _ in re.findall(SAID, (ROOT / page).read_text("utf-8"))
    )
    reasons = {(entry.page, entry.reason) for entry in table().not_run}
    assert said == Counter(page for page, _ in reasons) + Counter(each.page for each in table().history)


def test_who_is_only_checked_stands_in_the_page_for_contributors() -> None:
    page = " ".join((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split())
    (said,) = re.findall(r"Checked, and not run: (.*?)\.(?: |$)", page)
    programs = {"make": "`make`", "cargo": "`cargo`", "go": "`go`", "lab": "`quiclens-lab`", "rust": "Rust", "c": "C ",
                "cpp": "C++"}  # fmt: skip
    checked = {each.kind for each in table().kinds if each.only_checked} - {"picture"}
    assert checked == programs.keys() and all(name in said for name in programs.values())


def test_a_picture_is_no_command() -> None:
    """It has an arrow, and no line that could be typed."""
    programs = tuple(f"{name} " for name in ("quiclens", "make", "cargo", "python", "pip", "docker", "systemctl"))
    for item in left_to("picture"):
        lines = [line for line in item.text.splitlines() if "─" not in line and "►" not in line]
        assert re.search("[►─]", item.text) and not [line for line in lines if line.startswith(programs)], item


SEEN = """
Set `[spool]` and `max = 3`, run `quiclens slow --since 2h` or `SELECT 1`; `name` is none.

```
$ make demo
it says
```

```sh
0 3 * * *   quiclens load logs          each night
X=1 make up    it starts
```

```
a ─► b
```

    quiclens-lab link --keep

```toml
a = 1
```
"""


def test_what_a_document_shows_is_seen() -> None:
    seen = [(item.form, item.kind, item.text) for item in of_text("x.md", SEEN)]
    assert seen == [
        ("inline", "setting", "[spool]"),
        ("inline", "setting", "max = 3"),
        ("inline", "quiclens", "quiclens slow --since 2h"),
        ("inline", "sql", "SELECT 1"),
        ("block", "output", "$ make demo\nit says\n"),
        ("line", "quiclens", "quiclens load logs"),
        ("line", "make", "X=1 make up"),
        ("block", "picture", "a ─► b\n"),
        ("line", "lab", "quiclens-lab link --keep"),
        ("block", "toml", "a = 1\n"),
    ]


def test_a_program_that_nobody_knows_is_an_item_that_nobody_covers() -> None:
    (item,) = of_text("x.md", "```\nanother-program --now\n```\n")
    assert isinstance(item, Item) and item.kind == "unknown" and table().covering(item) == []
