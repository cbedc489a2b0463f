"""Whatever a log held: no command, in no format, writes what a terminal, a spreadsheet or Markdown obeys."""

import csv
import io
import json
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from api_ran import Ran
from api_seed import TABLES
from markdown_it import MarkdownIt
from quiclens_schema import catalogue
from quiclens_schema import store as stores
from quiclens_schema.plain_text import printable
from store_rows import fill

from quiclens_command_line.main import main
from quiclens_command_line.show.written import comma_separated
from quiclens_questions.report import Report
from quiclens_questions.reports import REPORTS
from quiclens_questions.where import request_columns
from quiclens_web.pages import page

HOSTILE = (
    "=1+1\x1b[31m\x9b2J\x1b]0;title\x07\u202e\u2066\u2028\x7f\x00\r\nFORGED\t[/none][bold]b[/bold] :smile: "
    "<script>x</script> [a](https://example.org) *e* `c` | \\ "
)
OBEYED = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
# Their words are the collector's own and choose which rows a question sees.
_WORDS = {
    "vantage", "events_kept", "coverage", "link", "source", "top_cause", "kind", "start_is", "end_is", "time_is",
    "frames.frame_type", "cannot_show", "inferred", "saves", "overlapping", "zero_rtt", "protocol",
}  # fmt: skip


def hostile(column: catalogue.Column, value: Any, words: bool) -> Any:
    """The value with hostile text before it, where it is text; ids stay alike in all tables."""
    if "String" not in column.type or (column.name in _WORDS and not words):
        return value
    if column.name in ("header", "open_episodes"):
        return json.dumps({HOSTILE: HOSTILE} if column.name == "header" else [HOSTILE])
    if column.type.startswith("Map"):
        return {HOSTILE + name: HOSTILE if column.type.endswith(" String)") else 1 for name in value or {"x": 1}}
    if column.type.startswith("Array"):
        return [HOSTILE + each for each in value or ()]
    if column.name == "request_id":
        left, slash, right = value.rpartition("/")
        return f"{HOSTILE}{left}{slash}{right}"
    return HOSTILE + (value or "")


def tables(words: bool) -> dict[str, list[dict[str, Any]]]:
    known = catalogue.load().tables
    made = {}
    for name, rows in TABLES.items():
        texts = [each for each in known[name].columns if "String" in each.type and (each.name.partition(".")[2] == "")]
        texts += [each for each in known[name].columns if "." in each.name and "String" in each.type]
        made[name] = [
            row
            | {
                each.name: hostile(each, row.get(each.name), words)
                for each in texts
                if each.name in row or "." not in each.name
            }
            for row in rows
        ]
    return made


@pytest.fixture(scope="module", params=[False, True], ids=["texts", "words too"])
def url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("hostile") / "store"
    fill(folder, tables(request.param))
    with stores.open(f"chdb:{folder}"):  # the engine starts once
        yield f"chdb:{folder}"


Asking = Callable[..., Ran]


@pytest.fixture
def ask(url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Asking]:
    """Run a command; whatever its end, nothing of what it wrote is obeyed, and no line is forged."""
    monkeypatch.setenv("QUICLENS_STORE", url)

    def now(*words: str) -> Ran:
        capsys.readouterr()
        code = main(words)
        said = capsys.readouterr()
        for text in (said.out.replace("\r\n", "\n"), said.err):
            assert not (found := OBEYED.search(text)), f"{words}: {found} in {text!r}"
            assert not any(line.startswith("FORGED") for line in text.splitlines()), f"{words}: {text!r}"
        assert code in (0, 1, 2, 3)
        return Ran(code, said.out, said.err)

    yield now


def ids(url: str) -> list[str]:
    with stores.open(url) as store:
        return [str(row[0]) for row in store.query("SELECT request_id FROM requests ORDER BY request_id").rows]


COMMANDS = (
    ["slow"],
    ["slow", "--by", "carrier"],
    ["slow", "--by", "path"],
    ["slow", "--where", f"carrier={HOSTILE}acme"],
    ["slow", "--where", f"{HOSTILE}=1"],
    ["slow", "--by", HOSTILE],
    ["failed"],
    ["status"],
    ["audit"],
    ["triage"],
    ["triage", "--markdown", "--where", f"carrier={HOSTILE}acme"],
    ["report", HOSTILE],
    ["explain", HOSTILE],
    ["export", HOSTILE, "-o", "x.qlog"],
    [HOSTILE],
)


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: printable(" ".join(words))[:40])
def test_commands(ask: Asking, words: list[str]) -> None:
    ask(*words)
    ask(*words, "--json")


def test_every_request_is_explained_and_exported(ask: Asking, url: str, tmp_path: Path) -> None:
    explained = [ask("explain", name) for name in ids(url)]
    assert any(each.code == 0 for each in explained)
    assert any("\\x1b[31m\\x9b2J" in each.out and "[bold]b[/bold] :smile:" in each.out for each in explained)
    ask("explain", "req-4")
    ask("explain", HOSTILE + "req-4", "--json")
    ask("export", HOSTILE + "aa11bb22", "-o", str(tmp_path / f"{printable(HOSTILE[:9])}.qlog"))


def test_a_ticket_has_no_markup_but_its_own(ask: Asking, url: str) -> None:
    for name in ids(url):
        said = ask("explain", name, "--markdown", "--address", "https://pages.example")
        text = re.sub(r"(?<!\\)`[^`\n]*`", "", said.out)
        links = re.findall(r"(?<!\\)\]\((.*?)\)", text)
        assert said.code == 0 and links and all(each.startswith("https://pages.example/") for each in links), links
        assert not re.search(r"(?<!\\)<script", text), text
    assert ask("explain", ids(url)[0], "--markdown", "--json").code == 2


@pytest.mark.parametrize("name", REPORTS)
@pytest.mark.parametrize("form", ["table", "markdown", "csv", "json"])
def test_reports(ask: Asking, name: str, form: str, tmp_path: Path) -> None:
    words = ["report", name, *(["--between", "region"] if name == "compare" else [])]
    by = [] if name in ("coverage", "use-rate", "grid", "load", "misrouted", "restarts") else ["--by", "carrier"]
    asked = [*words, *by, *(["--json"] if form == "json" else ["--format", form])]
    drawn = tmp_path / "drawn.svg"
    said = ask(*asked, "--picture", str(drawn))
    assert said.code in (0, 1), said.err
    if form == "csv":
        for row in csv.reader(io.StringIO(said.out)):
            assert not any(cell[:1] in "=+-@" for cell in row if cell and not is_number(cell)), row
    if form == "markdown":
        kinds = {token.type for token in flat(said.out)}
        assert not {each for each in kinds if re.match("html|link|em|strong|code|image|fence|list|html", each)}, kinds
    if drawn.exists():
        assert not OBEYED.search(drawn.read_text()) and "<script" not in drawn.read_text()


def test_hostile_names_of_groups_are_in_the_reports(ask: Asking, request: pytest.FixtureRequest) -> None:
    for form in ("markdown", "csv", "table"):
        said = ask("report", "tail", "--by", "carrier", "--format", form)
        assert "FORGED" in said.out and said.code == 0


def test_every_column_may_be_what_rows_are_grouped_by(ask: Asking) -> None:
    for column in request_columns():
        ask("slow", "--by", column)


def test_files_with_hostile_names_and_texts(ask: Asking, tmp_path: Path) -> None:
    name = HOSTILE.replace("/", "").replace("\x00", "")
    folder = tmp_path / name
    folder.mkdir()
    (folder / "a.qlog").write_text(json.dumps({"qlog_version": "0.3", "title": HOSTILE, "traces": [{"events": []}]}))
    (folder / "b.sqlog").write_text("\x1e" + json.dumps({"qlog_format": HOSTILE, "qlog_version": HOSTILE}) + "\n")
    for words in (["check", str(folder)], ["load", str(folder)], ["load", str(tmp_path / "none" / name)], ["status"]):
        ask(*words)
        ask(*words, "--json")


def is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def flat(text: str) -> Iterator[Any]:
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        yield token
        yield from token.children or ()


def test_the_page_of_reports_saves_csv_as_the_command_line_writes_it() -> None:
    texts = ["=1+1", "+1", "-1", "@x", "\tx", "\rx", "a\rb", "a,b", 'say "x"', "a\nb", "plain", HOSTILE]
    rows: list[list[Any]] = [*([text, -1, 0.5] for text in texts), [None, -2.5, [1]]]
    columns = ("name", "number", "more")
    report = Report("x", tuple((name, "") for name in columns), rows, 0, {"requests": 0, "traced": 0, "weight": 0})
    written = Path(page.__file__).parent / "static" / "csv.js"
    program = f"import {{ commaSeparated }} from {json.dumps(written.as_uri())};"
    program += f"process.stdout.write(commaSeparated({json.dumps([columns, *rows])}));"
    done = subprocess.run(["node", "--input-type=module", "-e", program], capture_output=True, check=True)
    texts = [done.stdout.decode(), comma_separated(report)]
    saved, printed = (list(csv.reader(io.StringIO(text, newline=""))) for text in texts)
    assert saved == printed and saved[1] == ["'=1+1", "-1", "0.5"]
