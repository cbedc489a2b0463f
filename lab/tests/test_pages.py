"""`quiclens-lab pages`: each sixtieth page and command, and that a fault is seen. The whole of it is a bar."""

import os
import shutil
from pathlib import Path

import pytest

from quiclens_lab import pages
from quiclens_lab.machine import LAB, collector_binary
from quiclens_lab.served import served

BROWSER = os.environ.get("QUICLENS_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")

pytestmark = [
    pytest.mark.skipif(BROWSER is None, reason="there is no chromium on this machine"),
    pytest.mark.skipif(not (LAB.parent / "api" / "node_modules").is_dir(), reason="make setup was not run"),
    pytest.mark.skipif(not collector_binary().exists(), reason="no quiclens-collector: cargo build --release"),
]


@pytest.mark.long
def test_pages_of_many_logs_open_without_a_fault_and_a_second_run_goes_on(tmp_path: Path) -> None:
    found = pages.pages(False, 60, lambda done, whole: None, tmp_path)
    assert found["passes"] and found["left_out"] == ["all but each 60-th page and command"], found
    assert found["visits"] > 15
    again = pages.pages(False, 60, lambda done, whole: pytest.fail("it was visited before"), tmp_path)
    assert again == found
    (lines,) = tmp_path.iterdir()
    assert lines.stem == found["code"]


@pytest.mark.long
def test_another_code_or_collector_is_visited_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "VIEWS", ())
    monkeypatch.setattr(pages, "_PLACES", ("/causes",))
    monkeypatch.setattr(pages, "_ABOUT_ALL", ())
    monkeypatch.setattr(pages, "inputs", list)
    monkeypatch.setattr(pages, "_names", lambda *_: [])
    monkeypatch.setattr(pages, "_load", lambda _: None)
    codes = iter(("a", "b", "b"))
    monkeypatch.setattr(pages, "code_of", lambda *_: next(codes))
    collectors = iter("xxy")
    monkeypatch.setattr(pages, "identity", lambda _: next(collectors))
    for _ in range(3):
        assert pages.pages(False, 1, lambda done, whole: None, tmp_path)["visits"] == 4  # light, dark, wide, phone
    assert {path.name for path in tmp_path.iterdir()} == {"a-x.jsonl", "b-x.jsonl", "b-y.jsonl"}


@pytest.mark.long
def test_every_command_about_all_requests_and_checks_of_inputs_answer(tmp_path: Path) -> None:
    """In turn for people and for programs; of the inputs two, which are bad on purpose."""
    checks = [("check", f"{case}/input.qlog") for case in ("bad_records", "document_damaged")]
    assert {path.parent.name for path in pages.inputs()} >= {"bad_records", "document_damaged", "access_log_tcp"}
    store = f"chdb:{tmp_path / 'store'}"
    pages._load(store)
    with served(tmp_path, needs_token=False):
        found = list(pages._commanded(store, [*pages._ABOUT_ALL, *checks]))
        (wrong,) = pages._commanded(store, [("check", "nothing/input.qlog")])
    assert [visit for visit in found if visit.faults] == []
    assert len(found) == len(pages._ABOUT_ALL) + 2
    assert wrong.faults[0].startswith("exit code ")


def test_a_page_that_answers_with_an_error_is_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "VIEWS", ())
    monkeypatch.setattr(pages, "_PLACES", ("/", "/requests/none/9"))
    monkeypatch.setattr(pages, "_names", lambda *_: [])
    monkeypatch.setattr(pages, "_load", lambda _: None)
    monkeypatch.setattr(pages, "_ABOUT_ALL", ())
    monkeypatch.setattr(pages, "inputs", list)
    found = pages.pages(False, 1, lambda done, whole: None, tmp_path)
    looks = ("", " (dark, phone)", " (dark)", " (phone)")
    assert (found["passes"], list(found["faults"])) == (False, [f"/requests/none/9{look}" for look in looks]), found
