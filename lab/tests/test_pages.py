"""`quiclens-lab pages`: each sixtieth page and command, and that a fault is seen. The whole of it is a bar."""

import os
import shutil
from pathlib import Path

import pytest

from quiclens_lab import pages
from quiclens_lab.machine import LAB, collector_binary

BROWSER = os.environ.get("QUICLENS_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")

pytestmark = [
    pytest.mark.skipif(BROWSER is None, reason="there is no chromium on this machine"),
    pytest.mark.skipif(not (LAB.parent / "api" / "node_modules").is_dir(), reason="make setup was not run"),
    pytest.mark.skipif(not collector_binary().exists(), reason="no quiclens-collector: cargo build --release"),
]


def test_pages_of_many_logs_open_without_a_fault_and_a_second_run_goes_on(tmp_path: Path) -> None:
    found = pages.pages(tmp_path, 60, lambda done, whole: None)
    assert found["passes"], found
    assert found["visits"] > 15
    again = pages.pages(tmp_path, 60, lambda done, whole: pytest.fail("it was visited before"))
    assert again == found


def test_a_page_that_answers_with_an_error_is_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "VIEWS", ())
    monkeypatch.setattr(pages, "_PLACES", ("/", "/requests/none/9"))
    monkeypatch.setattr(pages, "_names", lambda *_: [])
    monkeypatch.setattr(pages, "_load", lambda _: None)
    found = pages.pages(None, 1, lambda done, whole: None)
    assert (found["passes"], list(found["faults"])) == (False, ["/requests/none/9"]), found
