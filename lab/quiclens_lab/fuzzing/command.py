"""`quiclens-lab fuzz`: build the targets, run each for a while, add up what they did, keep the figures.

Everything stands in `.made/fuzz/<target>`: the corpus, from which the next run goes on, the seeds, what was found, and
the totals on the present code. Totals begin anew when what the target is built of changes; the corpus stays. On another
machine they go on from what `--keep` kept. What an earlier run found is tried first: it stays a finding until the code
takes it.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quiclens_lab.errors import CannotTryError, LabError
from quiclens_lab.fuzzing import engine, seeds, sources, words
from quiclens_lab.fuzzing.targets import TARGETS, FuzzTarget, is_done, named
from quiclens_lab.machine import LAB, commit, machine
from quiclens_lab.progress import say

ROOT = LAB.parent
FUZZ = ROOT / "collectors" / "fuzz"
MADE = ROOT / ".made" / "fuzz"
KEPT = LAB / "fuzz-runs"
# A short turn does the same each time on one code: one seed of chance, no corpus of earlier runs, no limit of time.
SHORT_SEED = 1
ATHERIS = ROOT / "tools" / "atheris.requirements.lock"


@dataclass(frozen=True, slots=True)
class Total:
    """What all runs of a target did on the present code."""

    code: str
    executions: int = 0
    edges: int = 0
    cpu_s: float = 0.0
    quiet_cpu_s: float = 0.0

    def plus(self, turn: engine.FuzzRun) -> "Total":
        is_quiet = turn.edges <= self.edges
        quiet = self.quiet_cpu_s + turn.cpu_s if is_quiet else turn.quiet_cpu_s
        cpu_s = round(self.cpu_s + turn.cpu_s, 1)
        return Total(self.code, self.executions + turn.executions, turn.edges, cpu_s, round(quiet, 1))


def fuzz(names: list[str], seconds: int, is_short: bool, is_kept: bool) -> dict[str, Any]:
    """Run each target for `seconds`. The document has a row for each, and for those that ran earlier on the present
    code; `passes` is false while one of all targets lacks anything (`missed`). A short turn must find nothing."""
    chosen = named(names)
    place = MADE / "short" if is_short else MADE
    if is_short:
        chosen = [target for target in chosen if not target.is_python or atheris_folder().is_dir()]
        shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True, exist_ok=True)
    words.write(place / "words.dict")
    binaries = build(target.name for target in chosen if not target.is_python)
    if any(target.is_python for target in chosen):
        install_atheris()
    rows = []
    say(f"{'target':<16}{'executions':>14}{'edges':>8}{'CPU s':>10}{'quiet s':>10}")
    for target in chosen:
        folder = place / target.name
        seeds.write(target, folder / "seeds")
        code = sources.code_of(target, binaries)
        before = Total(code) if is_short else total_of(folder, code, KEPT)
        options = {"seed": SHORT_SEED, "runs": target.short} if is_short else {"max_total_time": seconds}
        turn = one(target, options, before.edges, folder=folder)
        after = before.plus(turn)
        (folder / "total.json").write_text(json.dumps({key: getattr(after, key) for key in Total.__slots__}) + "\n")
        rows.append(_row(target, after, turn))
        say(_line(rows[-1]))
        if turn.is_interrupted:
            break
    if not is_short:
        rows += _of_earlier_runs({row["target"] for row in rows}, binaries)
    misses = missed(rows, is_short)
    document = {
        "commit": commit(),
        "machine": machine(),
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "missed": misses,
        "passes": not misses,
        "targets": rows,
    }
    for row in rows:
        if row["found"]:
            say(f"{row['target']}: {row['said']}\n  reproduce: {row['reproduce']}")
    for miss in misses:
        say(f"missed: {miss}")
    if is_kept and not is_short:
        keep(document)
    return document


def missed(rows: list[dict[str, Any]], is_short: bool = False) -> list[str]:
    """What is missed, in words: what was found and, but in a short turn, targets that had not enough, or never ran."""
    of = {row["target"]: row for row in rows}
    said = [f"{name}: found {row['found']}" for name, row in of.items() if row["found"]]
    if is_short:
        return said
    for target in TARGETS:
        row = of.get(target.name)
        if row is None:
            said.append(f"{target.name}: has not run on this code")
        elif not row["enough"]:
            said.append(
                f"{target.name}: {row['executions']:,} of {target.enough:,} executions, and {row['cpu_s']:,.0f} CPU s, "
                f"{row['cpu_s_since_new_edge']:,.0f} without a new edge"
            )
    return said


def _of_earlier_runs(ran: set[str], binaries: Path) -> list[dict[str, Any]]:
    """Rows of the targets that ran on the present code, but not now. One that is not built here is not known."""
    rows = []
    for target in TARGETS:
        if target.name in ran or not (target.is_python or (binaries / f"{target.name}.d").is_file()):
            continue
        folder = MADE / target.name
        total = total_of(folder, sources.code_of(target, binaries), KEPT)
        found = sorted(engine.findings(folder))
        if total.executions or found:
            rows.append(_row(target, total, engine.FuzzRun(0, 0, 0.0, 0.0, found[0] if found else None)))
    return rows


def one(
    target: FuzzTarget, options: Mapping[str, int], known_edges: int, folder: Path, binaries: Path | None = None
) -> engine.FuzzRun:
    """One run of a target in `folder` with options of libFuzzer; `binaries`, where they are not the usual ones."""
    environment = {"PYTHONPATH": str(atheris_folder())} if target.is_python else {}
    command = command_of(target, binaries)
    return engine.run(command, folder, {"max_len": target.longest, **options}, known_edges, environment)


def command_of(target: FuzzTarget, binaries: Path | None = None) -> list[str]:
    """What starts a target; libFuzzer's options and folders follow."""
    if target.is_python:
        return [sys.executable, "-m", "quiclens_lab.fuzzing.surfaces", target.name]
    return [str((binaries or binary_folder(ROOT / "target" / "fuzz")) / target.name)]


def build(names: Iterable[str], fuzz_folder: Path = FUZZ, into: Path | None = None) -> Path:
    """Build binaries of `collectors/fuzz`; returns their folder. LabError when that fails."""
    bins = [word for name in names for word in ("--bin", name)]
    target_folder = into or ROOT / "target" / "fuzz"
    if bins:
        environment = {key: value for key, value in os.environ.items() if "RUSTFLAGS" not in key}
        environment["CARGO_TARGET_DIR"] = str(target_folder)
        command = ["cargo", "build", "--locked", "--release", "--quiet", *bins]
        done = subprocess.run(command, cwd=fuzz_folder, env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise LabError(f"the fuzz targets do not build: {done.stderr.strip()[-2000:]}")
    return binary_folder(target_folder)


def binary_folder(target_folder: Path) -> Path:
    """Where cargo puts binaries that are built for a named target, the host's here."""
    host = subprocess.run(["rustc", "-vV"], capture_output=True, text=True, check=True).stdout
    triple = next(line.removeprefix("host: ") for line in host.splitlines() if line.startswith("host: "))
    return target_folder / triple / "release"


def atheris_folder() -> Path:
    """Where atheris is put: it has wheels for few Pythons, so it is no dependency."""
    return MADE / "atheris"


def install_atheris() -> None:
    """Put atheris into its folder, by its hash; LabError where it has no wheel for this Python."""
    folder = atheris_folder()
    if (folder / "atheris").is_dir():
        return
    pip = ROOT / ".tools" / "bin" / "pip"
    if not pip.exists():
        raise CannotTryError("no .tools/bin/pip; `make setup` makes it")
    draft = folder.with_suffix(".new")
    shutil.rmtree(draft, ignore_errors=True)
    command = [str(pip), "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:", "--no-deps"]
    command += ["--target", str(draft), "--require-hashes", "--requirement", str(ATHERIS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise LabError(f"atheris cannot be installed: {done.stderr.strip().splitlines()[-1]}")
    shutil.rmtree(folder, ignore_errors=True)
    draft.rename(folder)


def total_of(folder: Path, code: str, kept: Path) -> Total:
    """What runs of the target of `folder` did on `code`, here or, where `kept` has it, elsewhere."""
    path = folder / "total.json"
    known = Total(**json.loads(path.read_text())) if path.exists() else Total("")
    if known.code == code:
        return known
    runs = [row for path in kept.glob("*.json") for row in json.loads(path.read_text()).get("targets", [])]
    same = [row for row in runs if (row["target"], row["code"]) == (folder.name, code) and not row["found"]]
    totals = [Total(code, row["executions"], row["edges"], row["cpu_s"], row["cpu_s_since_new_edge"]) for row in same]
    return max(totals, key=lambda total: total.executions, default=Total(code))


def _row(target: FuzzTarget, total: Total, turn: engine.FuzzRun) -> dict[str, Any]:
    row: dict[str, Any] = {
        "target": target.name,
        "executions": total.executions,
        "edges": total.edges,
        "cpu_s": total.cpu_s,
        "cpu_s_since_new_edge": total.quiet_cpu_s,
        "enough": is_done(target, total.executions, total.cpu_s, total.quiet_cpu_s),
        "code": total.code,
        "found": "",
    }
    if turn.found is not None:
        path = turn.found.relative_to(ROOT)
        environment = f"PYTHONPATH={atheris_folder().relative_to(ROOT)} " if target.is_python else ""
        words_of = " ".join(command_of(target)).replace(f"{ROOT}/", "")
        row |= {"found": str(path), "said": turn.said, "reproduce": f"{environment}{words_of} {path}"}
    return row


def _line(row: dict[str, Any]) -> str:
    head = f"{row['target']:<16}{row['executions']:>14,}{row['edges']:>8,}{row['cpu_s']:>10,.0f}"
    head += f"{row['cpu_s_since_new_edge']:>10,.0f}"
    return head + (f"  found {row['found']}" if row["found"] else "  enough" if row["enough"] else "")


def keep(document: dict[str, Any]) -> None:
    """Write the figures of a commit, with those that an earlier run kept and this one left out."""
    KEPT.mkdir(exist_ok=True)
    path = KEPT / f"{document['commit'].rstrip('+')}.json"
    earlier = json.loads(path.read_text()) if path.exists() else {}
    for kind, name in (("targets", "target"), ("plants", "plant")):
        rows = {row[name]: row for row in (*earlier.get(kind, []), *document.get(kind, []))}
        document = document | ({kind: list(rows.values())} if rows else {})
    path.write_text(json.dumps(earlier | document, indent=1) + "\n")
