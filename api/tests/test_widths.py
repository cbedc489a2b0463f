"""Whatever the width of the terminal, nothing of an answer is cut: columns go and are named, or rows become cards."""

import json
import re
from collections.abc import Sequence
from io import BytesIO, StringIO, TextIOWrapper
from typing import Any

import pytest
from api_ran import Run
from api_seed import A
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from quiclens_command_line import output
from quiclens_command_line.show.tables import FittedTable, titled
from quiclens_questions.reports import REPORTS

WIDTHS = (40, 60, 80, 100, 120, 160)
_NO_ROOM = re.compile(r"no room for (.*?): a wider terminal", re.DOTALL)
COMMANDS = (
    ("slow",),
    ("slow", "--by", "carrier"),
    *(("report", name) for name in REPORTS if name != "compare"),
    ("report", "tail", "--by", "carrier"),
    ("report", "tail", "--without", "loss_recovery"),
    ("report", "rtt", "--by", "carrier"),
    ("report", "goodput", "--by", "weekday,hour"),
    ("failed",),
    ("explain", A),
    ("status",),
    ("audit",),
)


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What a command would print."""
    found: list[Any] = []
    monkeypatch.setattr(output, "print_human", lambda *parts: found.extend(parts))
    return found


def printed(parts: Sequence[Any], width: int) -> str:
    out = StringIO()
    console = Console(file=out, width=width, force_terminal=True, color_system=None, highlight=False, markup=False)
    for part in parts:
        console.print(part)
    return out.getvalue()


def is_whole(parts: Sequence[Any], width: int) -> None:
    """Every cell of every table is there, or its column is named as one that has no room."""
    text = printed(parts, width)
    assert max(map(cell_len, text.splitlines()), default=0) <= width
    joined = " ".join(text.split())
    no_room = " ".join(_NO_ROOM.findall(joined))
    for table in (part for part in parts if isinstance(part, FittedTable)):
        for column in table.columns:
            if not column.header or str(column.header) in no_room:
                continue
            for cell in column.cells:
                plain = " ".join((cell.plain if isinstance(cell, Text) else str(cell)).split())
                # Where a cell may be wrapped, lines of others stand between its own.
                for told in [plain] if column.no_wrap else plain.split():
                    # What is longer than a card goes on in the next line.
                    assert told in joined or cell_len(told) > width - 2, (column.header, told, text)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_nothing_of_an_answer_is_cut_at_any_width(command: tuple[str, ...], run: Run, parts: list[Any]) -> None:
    assert run(*command).code in (0, 1)
    assert parts
    for width in WIDTHS:
        is_whole(parts, width)


@pytest.mark.parametrize("width", WIDTHS)
def test_an_explained_request_has_its_causes_and_intervals_at_any_width(width: int, run: Run, parts: list[Any]) -> None:
    listed = json.loads(run("slow", "--where", "coverage=full", "--json").out)["requests"]
    name = max(listed, key=lambda each: each["top_cause_us"] or 0)["request_id"]
    document = json.loads(run("explain", name, "--json").out)
    assert run("explain", name).code == 0
    is_whole(parts, width)
    text = " ".join(printed(parts, width).split())
    assert document["sentence"] in text and name in text
    assert document["parts"]
    for part in document["parts"]:
        figure = f"{part['us'] / 1000:,.3f} ms"
        assert text.index(document["sentence"]) < text.index(figure), "the answer comes first"


def test_a_pipe_has_every_cell_on_one_line_and_no_line_ends_with_spaces(run: Run) -> None:
    listed = json.loads(run("slow", "--json").out)["requests"]
    said = run("slow").out.splitlines()
    for row in listed:
        (line,) = [line for line in said if line.endswith(row["request_id"])]
        assert str(row["path"] or "stream without HTTP events") in line
    assert all(line == line.rstrip() for line in said)


def table() -> FittedTable:
    made = titled("A title")
    made.add_column("group", no_wrap=True)
    made.add_column("id", no_wrap=True, is_heading=True)
    made.add_column("first to go", no_wrap=True, rank=2)
    made.add_column("then", no_wrap=True, rank=1)
    made.add_column("words", overflow="fold")
    made.add_row("north", "a" * 26, "f" * 30, "t" * 30, "some words that may be wrapped")
    made.add_row("", "b" * 26, "f" * 30, "t" * 30, "x")
    return made


def test_columns_go_by_their_rank_and_are_named() -> None:
    assert "no room" not in printed([table()], 160)
    some = printed([table()], 104)
    assert "no room for first to go: a wider terminal, a pipe and --json have it" in some
    assert "t" * 30 in some and "f" * 30 not in some
    assert [line.split()[:2] for line in some.splitlines() if "bbb" in line] == [["b" * 26, "t" * 30]]


def test_a_card_has_its_heading_first_and_what_stood_once_for_several_rows() -> None:
    cards = printed([table()], 60)
    assert "no room" not in cards
    second = cards.partition("b" * 26)[2]
    assert cards.partition("a" * 26)[0].split() == ["A", "title", "id"]
    assert second.split()[:2] == ["group", "north"]
    assert "f" * 30 in second and "t" * 30 in second


def test_a_command_that_is_to_be_copied_is_one_line_in_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    written = BytesIO()
    terminal = TextIOWrapper(written, encoding="utf-8", write_through=True)
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr("sys.stdout", terminal)
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("TERM", "xterm")
    command = "quiclens slow --since 2026-11-20T14:07:00Z --where 'carrier=Halden Mobile'"
    output.print_human(Text("word " * 20), Text(command, no_wrap=True, overflow="ignore"))
    *wrapped, last = written.getvalue().decode().splitlines()
    assert last == command and [len(line) <= 40 for line in wrapped] == [True] * 3
