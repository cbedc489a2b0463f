"""A collector compared with another one: what is compared, and what a slower one is told."""

import json
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from quiclens_lab import against
from quiclens_lab.errors import LabError


def test_the_three_forms_have_the_same_events(tmp_path: Path) -> None:
    forms = against.forms(tmp_path, 100)
    of = {form: _events(path) for form, path in forms.items()}
    assert of["header first"] == of["header behind"] == of["JSON-SEQ"] != []
    keys = {form: list(json.loads(next(forms[form].rglob("*.qlog")).read_text())["traces"][0]) for form in list(of)[:2]}
    assert keys["header first"][-1] == "events"
    assert keys["header behind"] == sorted(keys["header behind"])
    assert keys["header behind"][-1] != "events"


def _events(folder: Path) -> list[dict[str, Any]]:
    found = []
    for path in sorted(folder.rglob("*")):
        if path.suffix == ".qlog":
            found += json.loads(path.read_text())["traces"][0]["events"]
        elif path.suffix == ".sqlog":
            found += [json.loads(record) for record in path.read_text().split("\x1e")[2:]]
    return found


@pytest.mark.parametrize(
    ("newer_s", "instructions", "passes"), [(1.0, 103.0, True), (1.1, 100.0, False), (1.0, 103.1, False)]
)
def test_each_bar_is_missed_alone(
    newer_s: float, instructions: float, passes: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def of_form(*_: object) -> Mapping[str, Mapping[str, float]]:
        return {"header first": {"older": 100.0, "newer": 90.0}, "JSON-SEQ": {"older": 100.0, "newer": instructions}}

    monkeypatch.setattr(against, "forms", lambda folder, events: {})
    monkeypatch.setattr(against, "instructions", of_form)
    monkeypatch.setattr(against, "cpu_s", lambda collector, logs, folder: _made(folder, "newer", newer_s))
    found = against.against(_program(tmp_path), 100, 3, keep=False)
    assert found["passes"] is passes
    assert found["cpu_s"] == {"older": [1.0] * 3, "newer": [newer_s] * 3}


def _made(folder: Path, slower: str, seconds: float) -> float:
    folder.mkdir()
    return seconds if folder.name.startswith(slower) else 1.0


def _program(folder: Path) -> Path:
    path = folder / "older"
    path.write_text("#!/bin/sh\necho quiclens-collector 0.1.0\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_a_collector_that_does_not_run_is_no_figure(tmp_path: Path) -> None:
    path = _program(tmp_path)
    path.write_text("#!/bin/sh\necho 'no such thing' >&2\nexit 3\n")
    with pytest.raises(LabError, match="does not run: no such thing"):
        against.against(path, 100, 1, keep=False)
