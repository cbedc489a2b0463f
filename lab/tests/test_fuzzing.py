"""Fuzzing: what it begins with, what it counts, and that a finding is told; the targets themselves are `make fuzz`."""

import json
import stat
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from quiclens_lab.errors import LabError
from quiclens_lab.fuzzing import command, engine, plants, seeds, sources, surfaces, words
from quiclens_lab.fuzzing.command import Total
from quiclens_lab.fuzzing.engine import FuzzRun
from quiclens_lab.fuzzing.targets import TARGETS, FuzzTarget, is_done, named

# Says what libFuzzer says, and leaves a finding when the corpus has a file of that name.
FAKE = """#!/bin/sh
for argument; do
  case $argument in -artifact_prefix=*) found=${argument#-artifact_prefix=};; esac
done
echo '#2 INITED cov: 10 ft: 12 corp: 1/1b' >&2
echo '#70 NEW    cov: 30 ft: 40 corp: 2/9b' >&2
%s
echo 'stat::number_of_executed_units: 90' >&2
exit %d
"""


def fake(folder: Path, status: int, more: str = "") -> list[str]:
    path = folder / "target"
    path.write_text(FAKE % (more, status))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return [str(path)]


def test_every_binary_is_a_target_and_every_target_has_a_row_in_the_readme() -> None:
    manifest = tomllib.loads((command.FUZZ / "Cargo.toml").read_text())
    rust = {target.name for target in TARGETS if not target.is_python}
    assert {binary["name"] for binary in manifest["bin"]} == rust
    assert {target.name for target in TARGETS if target.is_python} == set(surfaces.SURFACES)
    rows = [line for line in (command.FUZZ / "README.md").read_text().splitlines() if line.startswith("| `")]
    told = {word for row in rows for word in row.split("|")[1].replace("`", "").replace(",", " ").split()}
    assert told == {target.name for target in TARGETS}


def test_every_plant_fits_the_code_once_and_has_a_target() -> None:
    found = plants.read()
    assert len(found) >= 10
    assert {plant.target for plant in found} <= {target.name for target in TARGETS}
    for plant in found:
        text = (command.ROOT / plant.file).read_text()
        assert text.count(plant.old) == 1, plant.name
        assert plant.new not in text, plant.name


def test_a_plant_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    plant = plants.Plant("a", "json", "a.rs", "old", "new")
    (tmp_path / "a.rs").write_text("old old")
    with pytest.raises(LabError, match="stands 2 times"):
        plants.plant_in(tmp_path, plant)
    (tmp_path / "a.rs").write_text("an old text")
    plants.plant_in(tmp_path, plant)
    assert (tmp_path / "a.rs").read_text() == "an new text"


def test_seeds_are_made_of_every_case_and_are_small(tmp_path: Path) -> None:
    for target in TARGETS:
        folder = tmp_path / target.name
        seeds.write(target, folder)
        (folder / "left-over").write_text("of another run")
        seeds.write(target, folder)
        found = {path.name: path.read_bytes() for path in folder.iterdir()}
        assert bool(found) == bool(target.seeds) and "left-over" not in found
        assert all(len(seed) <= target.longest for seed in found.values()), target.name
        if set(target.seeds) & {"files", "compressed"}:
            assert len(found) >= sum(1 for _ in seeds.inputs()), target.name
    files = [path.read_bytes() for path in (tmp_path / "records").iterdir()]
    records = [text.count(b"\n") for text in files if text[:1] == b"\x1e"]
    assert sorted(records)[len(records) // 2] >= 2, "a header and events"
    starts = {text.lstrip(b"\x1e\xef\xbb\xbf")[:1] for text in files}
    assert {b"{", b"1"} <= starts, "documents, sequences and rows"


def test_the_dictionary_has_the_catalogues_words_and_libfuzzers_form(tmp_path: Path) -> None:
    words.write(tmp_path / "words.dict")
    lines = (tmp_path / "words.dict").read_text().splitlines()
    assert {'"\\"packet_sent\\""', '"\\"frame_type\\""', '"\\"AppDataSpace\\""'} <= {
        line.replace("\\x22", '\\"') for line in lines
    }
    for line in lines:
        assert line.startswith('"') and line.endswith('"') and line.isascii()
        assert '"' not in line[1:-1]


def test_a_run_is_counted_and_what_it_found_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "made" / "json"
    turn = engine.run(fake(tmp_path, 0), folder, {}, known_edges=20)
    assert (turn.executions, turn.edges, turn.found, turn.said) == (90, 30, None, "")
    known = engine.run(fake(tmp_path, 0), folder, {}, known_edges=50)
    assert known.edges == 50 and known.quiet_cpu_s == known.cpu_s
    more = "echo 'panicked at json.rs:3' >&2; echo 'a reason' >&2; touch ${found}crash-1"
    crashed = engine.run(fake(tmp_path, 77, more), folder, {})
    assert crashed.found == folder / "found" / "crash-1"
    assert crashed.said == "panicked at json.rs:3 a reason"
    # What an earlier run found is tried first: it is found until the code takes it, and then a part of the corpus.
    again = engine.run(fake(tmp_path, 77, "echo 'panicked at json.rs:3' >&2; echo 'a reason' >&2"), folder, {}, 30)
    assert (again.found, again.said) == (folder / "found" / "crash-1", "panicked at json.rs:3 a reason")
    assert (again.executions, again.edges, again.cpu_s) == (0, 30, 0.0)
    (folder / "found" / "slow-unit-1").touch()  # none that failed
    assert engine.run(fake(tmp_path, 0), folder, {}).found is None
    assert [path.name for path in (folder / "corpus").iterdir()] == ["crash-1"]
    # One that ends without a word is a finding too.
    assert engine.run(fake(tmp_path, 1), folder, {}).found == folder / "log"
    assert engine.run(fake(tmp_path, 72), folder, {}).is_interrupted


def test_totals_go_on_from_what_was_kept_of_the_same_code(tmp_path: Path) -> None:
    here, kept = tmp_path / "json", tmp_path / "kept"
    here.mkdir()
    kept.mkdir()
    row = {"target": "json", "code": "a", "edges": 5, "cpu_s": 2.0, "cpu_s_since_new_edge": 1.0, "found": ""}
    others = [row | {"executions": 9, "code": "b"}, row | {"executions": 8, "target": "file"}]
    (kept / "1.json").write_text(json.dumps({"targets": [row | {"executions": 6}, *others]}))
    (kept / "2.json").write_text(json.dumps({"targets": [row | {"executions": 7}], "plants": []}))
    (kept / "3.json").write_text(json.dumps({"targets": [row | {"executions": 99, "found": "crash-1"}]}))
    assert command.total_of(here, "a", kept) == Total("a", 7, 5, 2.0, 1.0)
    assert command.total_of(here, "c", kept) == Total("c")
    (here / "total.json").write_text(json.dumps({"code": "a", "executions": 3}))
    assert command.total_of(here, "a", kept).executions == 3


def test_totals_are_of_one_code_and_quiet_since_the_last_new_edge() -> None:
    total = Total("a").plus(FuzzRun(10, 100, 60.0, 20.0))
    assert total == Total("a", 10, 100, 60.0, 20.0)
    assert total.plus(FuzzRun(5, 100, 30.0, 30.0)) == Total("a", 15, 100, 90.0, 50.0)
    assert total.plus(FuzzRun(5, 101, 30.0, 10.0)) == Total("a", 15, 101, 90.0, 10.0)


def test_enough_is_executions_or_two_hours_with_a_quiet_end() -> None:
    target = FuzzTarget("a", enough=1000)
    assert is_done(target, 1000, 1.0, 0.0) and not is_done(target, 999, 7199.0, 7199.0)
    assert is_done(target, 1, 7200.0, 1800.0) and not is_done(target, 1, 7200.0, 1799.0)


def row(name: str, enough: bool = True, found: str = "") -> dict[str, Any]:
    figures = {"executions": 5, "cpu_s": 60.0, "cpu_s_since_new_edge": 2.0}
    return {"target": name, "enough": enough, "found": found, **figures}


def test_a_target_that_had_not_enough_or_never_ran_is_missed() -> None:
    rows = [row(target.name) for target in TARGETS]
    assert command.missed(rows) == []
    assert command.missed(rows[1:]) == ["sequence: has not run on this code"]
    (few,) = command.missed([row("sequence", enough=False), *rows[1:]])
    assert few == "sequence: 5 of 100,000,000 executions, and 60 CPU s, 2 without a new edge"
    assert command.missed([row("sequence", found="a/crash-1"), *rows[1:]]) == ["sequence: found a/crash-1"]
    # A short turn is no bar: it must find nothing.
    assert command.missed(rows[:3], is_short=True) == []
    assert command.missed([row("json", found="a/crash-1")], is_short=True) == ["json: found a/crash-1"]


@pytest.mark.parametrize("ran", [["codecs"], ["codecs", "form"]])
def test_what_ran_before_on_the_same_code_counts_and_what_it_found_too(
    ran: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "ROOT", tmp_path)
    monkeypatch.setattr(command, "MADE", tmp_path)
    monkeypatch.setattr(command, "KEPT", tmp_path / "kept")
    monkeypatch.setattr(sources, "code_of", lambda target, binaries: "a")
    for name, code in (("codecs", "a"), ("form", "a"), ("where", "b")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "total.json").write_text(json.dumps({"code": code, "executions": 200_000}))
    (tmp_path / "form" / "found").mkdir()
    (tmp_path / "form" / "found" / "crash-1").touch()
    rows = command._of_earlier_runs(set(ran), tmp_path / "no binaries")
    assert [(each["target"], each["found"]) for each in rows] == [("form", "form/found/crash-1")] * ("form" not in ran)


def test_the_verdict_of_plants_stands_beside_that_of_the_targets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "KEPT", tmp_path)
    two = [plants.Plant(name, "json", "a.rs", "old", "new") for name in ("one", "two")]
    found = {"plant": "one", "outcome": "found"}
    assert plants.verdict([found], two) == {"plants_missed": ["two: not tried"], "plants_pass": False}
    good = plants.verdict([found, found | {"plant": "two"}], two)
    assert good == {"plants_missed": [], "plants_pass": True}
    command.keep(
        {"commit": "c+", "passes": False, "missed": ["json: has not run on this code"], "targets": [row("form")]}
    )
    command.keep({"commit": "c", **good, "plants": [found]})
    kept = json.loads((tmp_path / "c.json").read_text())
    assert (kept["passes"], kept["plants_pass"], len(kept["targets"]), len(kept["plants"])) == (False, True, 1, 1)
    command.keep({"commit": "c", "passes": True, "missed": [], "targets": [row("json")]})
    kept = json.loads((tmp_path / "c.json").read_text())
    assert (kept["passes"], kept["plants_pass"], len(kept["targets"])) == (True, True, 2)


def test_a_target_that_is_not_there_is_named() -> None:
    assert [target.name for target in named(["fold"])] == ["fold"]
    with pytest.raises(LabError, match="no fuzz target flod; there are sequence,"):
        named(["flod"])


@pytest.mark.parametrize("name", list(surfaces.SURFACES))
def test_a_python_surface_takes_its_seeds_and_nothing(name: str, tmp_path: Path) -> None:
    (target,) = named([name])
    seeds.write(target, tmp_path)
    check = surfaces.SURFACES[name]()
    check(b"")
    for path in sorted(tmp_path.iterdir()):
        check(path.read_bytes())


def test_the_code_of_a_target_is_what_it_is_built_of(tmp_path: Path) -> None:
    root = sources.ROOT
    told = ["core/src/lib.rs", "edge/src/lib.rs", "tail/src/lib.rs", "agent/src/file.rs", "fuzz/src/rows.rs"]
    for name in ("json", "redact", "compressed", "file"):
        paths = " ".join(str(root / "collectors" / path) for path in (*told, f"fuzz/targets/{name}.rs"))
        (tmp_path / f"{name}.d").write_text(f"{tmp_path / name}: {paths} /usr/include/a.h\n")

    def of(name: str) -> set[str]:
        found = sources.rust_files(name, tmp_path)
        return {"/".join(path.relative_to(root / "collectors").parts[:2]) for path in found} & {
            "core/src", "edge/src", "tail/src", "agent/src"
        }  # fmt: skip

    assert of("json") == {"core/src"}
    assert of("redact") == {"core/src", "edge/src"}
    assert of("compressed") == {"core/src", "tail/src"} or of("compressed") == {"tail/src"}
    assert of("file") == {"core/src", "edge/src", "tail/src", "agent/src"}


@pytest.mark.parametrize("name", list(surfaces.SURFACES))
def test_the_code_of_a_python_surface_is_all_that_it_imports(name: str) -> None:
    program = f"""
import sys
from quiclens_lab.fuzzing import surfaces
surfaces.SURFACES[{name!r}]()
print(*[module.__file__ for key, module in sys.modules.items() if key.startswith("quiclens_")], sep="\\n")
"""
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    imported = {Path(path) for path in told.splitlines()}
    lab = sources.ROOT / "lab"
    assert {path for path in imported if not path.is_relative_to(lab)} <= set(sources.python_files(name))
