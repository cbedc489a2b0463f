"""`quiclens-lab pages`: every case of `schema/vectors` through every page, view and command.

All inputs are loaded into one store, access logs with their formats, and served. Each request and each connection is
opened in a real browser, in every view; a page passes where it answers, throws nothing, logs no error, asks no other
host and has no barrier that axe knows (WCAG 2.2 A and AA). Pages that are of no request are opened light and dark, wide
and as on a phone; the others in one of these each, in turn. Each request and connection is also asked for by the
commands about one; `check` reads each input, and the commands about all requests are run. What was visited is kept in
`.made/pages`, so that a run of the same code goes on where the last one ended.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any
from urllib.parse import quote

from quiclens_questions.reports import REPORTS

from quiclens_lab.errors import CannotTryError, LabError
from quiclens_lab.judgement import Judgement
from quiclens_lab.kept import RunLines
from quiclens_lab.machine import LAB, code_of, collector_binary
from quiclens_lab.served import CODE, served
from quiclens_lab.truth.collector import identity

MADE = LAB.parent / ".made" / "pages"

API = LAB.parent / "api"
VECTORS = LAB.parent / "schema" / "vectors"
VIEWS = ("congestion", "streams", "sequence", "packets", "log", "statistics")
_TOGETHER = 3
_AT_ONCE = 30  # visits of one browser
_SECONDS = 600
_PLACES = (
    *("/", "/requests", "/causes", "/upload", "/working", "/compare?a=protocol%3Dh3&b=protocol!%3Dh3", "/api/docs"),
    *(f"/reports?name={name}" for name in REPORTS),
)
_PHONE = 390
_LOOKS = ((False, 1280), (True, _PHONE), (True, 1280), (False, _PHONE))
_EXIT_CODES = 0, 1  # done, nothing found
_ABOUT_ALL = (
    *(("slow",), ("slow", "--by", "carrier"), ("failed",), ("status",), ("audit",)),
    *(("report", name) for name in REPORTS),
    *(("report", "tail", "--without", "loss_recovery"), ("report", "rtt", "--of", "requests", "--by", "protocol")),
    *(("report", "compare", "--base", "tcp"), ("report", "compare", "--between", "protocol")),
)

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Page:
    """A path, and how it is looked at."""

    path: str
    is_dark: bool = False
    width: int = 1280

    def __str__(self) -> str:
        looks = [*(["dark"] if self.is_dark else []), *(["phone"] if self.width == _PHONE else [])]
        return f"{self.path} ({', '.join(looks)})" if looks else self.path


@dataclass(frozen=True, slots=True)
class Visit:
    """What came of one page or command; no fault, it passed."""

    what: str
    faults: tuple[str, ...]


def pages(keep: bool, slice_of: int, progress: Callable[[int, int], None], folder: Path = MADE) -> Row:
    """Visit everything, or each `slice_of`-th of it, but for what `folder` says that a run of the same code visited."""
    browser = os.environ.get("QUICLENS_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None or not (API / "node_modules").is_dir():
        raise CannotTryError(
            "no chromium, or no node modules: `make setup`, and `apt install chromium` or QUICLENS_CHROMIUM"
        )
    judgement = Judgement("pages")
    code = code_of(LAB.parent, (*CODE, "schema/vectors", "api/tests/browser", "lab/quiclens_lab/pages.py"))
    code += f"-{identity(collector_binary())[:12]}"
    kept = RunLines(folder, f"{code}.jsonl", Visit)
    done = {each.what: each for each in kept.read()}
    with tempfile.TemporaryDirectory(prefix="quiclens-pages-") as place:
        store = f"chdb:{Path(place) / 'store'}"
        _load(store)
        with served(Path(place), needs_token=False) as running:
            requests, connections = _names(store, "requests", "request"), _names(store, "connections", "connection")
            paths = [f"/requests/{quote(name)}" for name in requests]
            paths += [f"/connections/{quote(name, safe='')}?view={view}" for name in connections for view in VIEWS]
            opened = [Page(path, *look) for path in _PLACES for look in _LOOKS]
            opened += [Page(path, *look) for path, look in zip(paths, cycle(_LOOKS), strict=False)]
            names = [str(path.relative_to(VECTORS)) for path in inputs()]
            commands = [*_ABOUT_ALL, *(("check", name) for name in names), *(("diff", name, name) for name in names)]
            commands += [("explain", name) for name in requests] + [("export", name) for name in connections]
            left = [page for page in opened[::slice_of] if str(page) not in done]
            asked = [words for words in commands[::slice_of] if " ".join(words) not in done]
            whole = len(opened[::slice_of]) + len(commands[::slice_of])
            for found in (_seen(f"http://127.0.0.1:{running.port}", browser, left), _commanded(store, asked)):
                for visit in found:
                    done[visit.what] = visit
                    kept.add(visit)
                    progress(len(done), whole)
            judgement.want(running.process.poll() is None, "serve ended")
            unexpected = running.logged("unexpected")
    faults = {each.what: each.faults for each in done.values() if each.faults}
    judgement.found |= {
        "code": code,
        "requests": len(requests),
        "connections": len(connections),
        "visits": len(done),
        "faults": dict(list(faults.items())[:100]),
        "failed": len(faults),
        "log": unexpected,
    }
    judgement.want(not faults, f"{len(faults)} visits have a fault")
    judgement.want(not unexpected, "the log tells of an unexpected error")
    judgement.want(len(done) >= whole, f"{len(done)} visits of {whole}")
    judgement.leave_out(slice_of > 1, f"all but each {slice_of}-th page and command")
    return judgement.document(keep)


def inputs() -> list[Path]:
    """The log of each case."""
    return sorted(VECTORS.glob("*/input.*"))


def _load(store: str) -> None:
    """Load all cases, and their access logs, each as its format says."""
    words = [sys.executable, "-m", "quiclens_command_line", "load", "--store", store, "--json"]
    for case in sorted(path.parent for path in VECTORS.glob("*/access.log")):
        of_case = [str(case), "--requests", str(case / "access.log"), "--requests-format", str(case / "format.toml")]
        done = subprocess.run([*words, *of_case], capture_output=True, check=False, text=True)
        if done.returncode not in _EXIT_CODES:
            raise LabError(f"the access log of {case.name} cannot be loaded: {done.stderr}")
    done = subprocess.run([*words, str(VECTORS)], capture_output=True, check=False, text=True)
    if done.returncode != 1:  # some inputs are bad on purpose
        raise LabError(f"the cases cannot be loaded: {done.stderr}")


def _names(store: str, table: str, thing: str) -> list[str]:
    from quiclens_schema import store as stores

    with stores.open(store) as opened:
        sql = f"SELECT DISTINCT {thing}_id FROM {table} ORDER BY {thing}_id"
        return [str(name) for (name,) in opened.query(sql).rows]


def _seen(base: str, browser: str, pages: Sequence[Page]) -> Iterator[Visit]:
    """Open each in a browser."""
    words = ["node", "tests/browser/pages.mjs", base, browser, "", str(_TOGETHER)]
    for first in range(0, len(pages), _AT_ONCE):
        some = pages[first : first + _AT_ONCE]
        steps = [
            {"name": str(page), "path": page.path, "dark": page.is_dark, "width": page.width, "barriers": True}
            for page in some
        ]
        done = subprocess.run(
            words, input=json.dumps(steps), capture_output=True, text=True, cwd=API, timeout=_SECONDS, check=False
        )
        if done.returncode:
            raise LabError(f"the browser ended: {done.stderr[:500]}")
        for found in json.loads(done.stdout):
            outside = [f"asked {url}" for url in found["outside"]]
            barriers = [f"barrier: {json.dumps(barrier)}" for barrier in found["barriers"]]
            yield Visit(found["name"], (*found["errors"], *outside, *barriers))


def _commanded(store: str, commands: Sequence[tuple[str, ...]]) -> Iterator[Visit]:
    """Run each command, for people and for programs in turn; `export` is for programs."""

    def run(turn: int, words: tuple[str, ...]) -> Visit:
        name, *things = words
        is_json = name != "export" and turn % 2 == 1
        out = ["--output", "-"] if name == "export" else ["--json"] if is_json else []
        of_store = [] if name == "diff" else ["--store", store]
        program = [sys.executable, "-m", "quiclens_command_line", name, *of_store, *out]
        program += things if words in _ABOUT_ALL else ["--", *things]
        done = subprocess.run(
            program, capture_output=True, text=True, check=False, errors="replace", timeout=_SECONDS, cwd=VECTORS
        )
        faults = []
        if done.returncode not in _EXIT_CODES or "Traceback" in done.stderr:
            faults.append(f"exit code {done.returncode}: {done.stderr[-500:]}")
        elif is_json and not _is_json(done.stdout):
            faults.append(f"no JSON document: {done.stdout[:200]}")
        return Visit(" ".join(words), tuple(faults))

    with ThreadPoolExecutor(2) as threads:
        yield from threads.map(run, range(len(commands)), commands)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
