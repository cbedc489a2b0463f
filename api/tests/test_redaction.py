"""With redaction on, what is loaded and what is uploaded leaves no client address in the store, a page or an answer."""

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from api_ran import Run
from canaries import CANARIES, access, found, lines, qlog
from serve_process import Served, start
from told_by import asked, rows

COLLECTOR = os.environ.get("QUICLENS_COLLECTOR")  # before `run` empties the environment
AT_US = 1_700_000_000_000_000
TIME = "2023-11-14T22:13:20Z"


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    running = start(tmp_path / "store", "--keep-events", "0", "--keep-summaries", "0", **collector())
    yield running
    assert running.stop() == 0


def collector() -> dict[str, str]:
    built = Path(COLLECTOR or Path(__file__).parents[2] / "target/release/quiclens-collector")
    if not built.is_file():
        pytest.skip("the collector is not built: redaction was not tested")
    return {"QUICLENS_COLLECTOR": str(built)}


@dataclass(frozen=True, slots=True)
class Logs:
    """Files that have one form of an address, in their names too. They are loaded one by one: see
    `test_two_addresses_of_one_network_in_one_batch`."""

    trace: Path
    lines: Path
    access: Path


@pytest.fixture
def logs(tmp_path: Path) -> list[Logs]:
    """All twenty forms."""
    made = []
    for number, canary in enumerate(CANARIES):
        folder = tmp_path / f"logs{number}"
        folder.mkdir()
        each = Logs(*(folder / f"{canary.spoken}{end}" for end in (".qlog", ".log", ".jsonl")))
        each.trace.write_bytes(qlog(canary, f"c0ffee{number:02}", AT_US))
        each.lines.write_bytes(lines(canary, f"decade{number:02}", AT_US))
        each.access.write_bytes(access(canary, f"c0ffee{number:02}", TIME))
        made.append(each)
    return made


def load(run: Run, store: Served, logs: Sequence[Logs], *options: str) -> str:
    """Loads them; all that the commands wrote."""
    told = []
    for one in logs:
        for words in ([one.trace, "--requests", one.access], [one.lines]):
            ran = run("load", *map(str, words), "--store", store.store_url, "--json", *options)
            assert ran.code == 1 and ran.document["rejected"] and ran.document["connections"] == 1, ran
            told.append(ran.out + ran.err)
    return "".join(told)


def test_load_keeps_what_logs_say_unless_it_is_asked_to_redact(run: Run, store: Served, logs: list[Logs]) -> None:
    load(run, store, [logs[0], logs[3]])
    kept = rows(store)
    assert all(found(kept[table]) for table in ("events", "connections", "rejects", "request_lines", "requests"))
    assert found(asked(store)), "an export gives every record back"


@pytest.mark.parametrize("step", [6, pytest.param(1, marks=pytest.mark.long)])
def test_load_that_redacts_keeps_no_address(run: Run, store: Served, logs: list[Logs], step: int) -> None:
    told = load(run, store, logs[::step], "--redact")
    kept = rows(store)
    assert all(kept[table] for table in ("events", "connections", "streams", "rejects", "request_lines", "requests"))
    assert {table: found(text) for table, text in kept.items() if found(text)} == {}
    assert found(asked(store)) == [] and found(told) == []


def test_two_addresses_of_one_network_in_one_batch(run: Run, store: Served, tmp_path: Path) -> None:
    """Both names become the same; the engine refuses a dictionary that has a text twice."""
    folder = tmp_path / "logs"
    folder.mkdir()
    rows = "".join(f"c0ffee00\t{last}\t1\tfrom 192.0.2.{last}\t0\n" for last in range(2))
    (folder / "a.log").write_text(rows, encoding="utf-8")
    ran = run("load", str(folder), "--redact", "--store", store.store_url, "--json")
    assert "error" not in ran.document and ran.document["events"] == 2, ran.out


@pytest.mark.parametrize(
    ("is_redacted", "count"), [(True, 2), pytest.param(True, 12, marks=pytest.mark.long), (False, 1)]
)
def test_uploads_are_redacted_unless_serve_is_told_otherwise(
    tmp_path: Path, logs: list[Logs], is_redacted: bool, count: int
) -> None:
    running = start(tmp_path / "store", *([] if is_redacted else ["--no-redact-uploads"]), **collector())
    try:
        said = []
        for path in (path for one in logs[:count] for path in (one.trace, one.lines)):
            got = running.request(path.read_bytes(), "POST", "/api/v1/traces", {}, name=path.name)
            assert got.status == 201 and json.loads(got.text)["connections_found"], got.text
            said.append(got.text)
        kept = rows(running)
        assert kept["rejects"] and kept["events"] and kept["requests"]
        in_store = {table: found(text) for table, text in kept.items() if found(text)}
        in_answers = found(asked(running) + "".join(said))
        page = running.request(b"", "GET", "/upload", {"accept": "text/html"}).text
        if is_redacted:
            assert in_store == {} and in_answers == [] and found(running.logged()) == []
        else:
            assert {"events", "rejects", "connections"} <= set(in_store) and in_answers
        assert ("without client addresses" in page) == is_redacted
    finally:
        assert running.stop() == 0
