"""`quiclens-lab pages`: every case of `schema/vectors` through every page, view and command.

All inputs are loaded into one store and served. Each request and each connection is opened in a real browser, in every
view; a page passes where it answers, throws nothing, logs no error and asks no other host. Each is also asked for by
the commands about one request or connection. What was visited is kept, so that a run goes on where the last one ended.
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
from pathlib import Path
from typing import Any
from urllib.parse import quote

from quiclens_lab.errors import CannotTryError, LabError
from quiclens_lab.kept import RunLines
from quiclens_lab.machine import LAB, commit, machine
from quiclens_lab.served import served

API = LAB.parent / "api"
VECTORS = LAB.parent / "schema" / "vectors"
VIEWS = ("congestion", "streams", "sequence", "packets", "log", "statistics")
REPORTS = ("tail", "rtt", "loss", "coverage", "use-rate", "grid", "load")
_TOGETHER = 3
_AT_ONCE = 30  # visits of one browser
_SECONDS = 600
_PLACES = (
    *("/", "/requests", "/causes", "/upload", "/working", "/compare?a=protocol%3Dh3&b=protocol!%3Dh3", "/api/docs"),
    *(f"/reports?name={name}" for name in REPORTS),
)
_COMMANDS = 0, 1  # done, nothing found

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Visit:
    """What came of one page or command; no fault, it passed."""

    what: str
    faults: tuple[str, ...]


def pages(keep: Path | None, slice_of: int, progress: Callable[[int, int], None]) -> Row:
    """Visit everything, or each `slice_of`-th of it. `passes` where nothing has a fault."""
    browser = os.environ.get("QUICLENS_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None or not (API / "node_modules").is_dir():
        raise CannotTryError(
            "no chromium, or no node modules: `make setup`, and `apt install chromium` or QUICLENS_CHROMIUM"
        )
    kept = RunLines(keep, f"{commit()}.jsonl", Visit)
    done = {each.what: each for each in kept.read()}
    with tempfile.TemporaryDirectory(prefix="quiclens-pages-") as folder:
        store = f"chdb:{Path(folder) / 'store'}"
        _load(store)
        with served(Path(folder), needs_token=False) as running:
            requests, connections = _names(store, "requests", "request"), _names(store, "connections", "connection")
            paths = [*_PLACES, *(f"/requests/{quote(name)}" for name in requests)]
            paths += [f"/connections/{quote(name, safe='')}?view={view}" for name in connections for view in VIEWS]
            commands = [("explain", name) for name in requests] + [("export", name) for name in connections]
            left = [path for path in paths[::slice_of] if path not in done]
            asked = [words for words in commands[::slice_of] if " ".join(words) not in done]
            whole = len(paths[::slice_of]) + len(commands[::slice_of])
            for found in (_seen(f"http://127.0.0.1:{running.port}", browser, left), _commanded(store, asked)):
                for visit in found:
                    done[visit.what] = visit
                    kept.add(visit)
                    progress(len(done), whole)
            is_alive = running.process.poll() is None
            unexpected = running.logged("unexpected")
    faults = {each.what: each.faults for each in done.values() if each.faults}
    return {
        "commit": commit(),
        "machine": machine(),
        "requests": len(requests),
        "connections": len(connections),
        "visits": len(done),
        "faults": dict(list(faults.items())[:100]),
        "failed": len(faults),
        "log": unexpected,
        "passes": is_alive and not faults and not unexpected and bool(done),
    }


def _load(store: str) -> None:
    words = [sys.executable, "-m", "quiclens_command_line", "load", str(VECTORS), "--store", store, "--json"]
    done = subprocess.run(words, capture_output=True, check=False, text=True)
    if done.returncode != 1:  # some inputs are bad on purpose
        raise LabError(f"the cases cannot be loaded: {done.stderr}")


def _names(store: str, table: str, thing: str) -> list[str]:
    from quiclens_schema import store as stores

    with stores.open(store) as opened:
        sql = f"SELECT DISTINCT {thing}_id FROM {table} ORDER BY {thing}_id"
        return [str(name) for (name,) in opened.query(sql).rows]


def _seen(base: str, browser: str, paths: Sequence[str]) -> Iterator[Visit]:
    """Open each path in a browser."""
    words = ["node", "tests/browser/pages.mjs", base, browser, "", str(_TOGETHER)]
    for first in range(0, len(paths), _AT_ONCE):
        some = paths[first : first + _AT_ONCE]
        steps = [{"name": path, "path": path, "expect": [], "do": []} for path in some]
        done = subprocess.run(
            words, input=json.dumps(steps), capture_output=True, text=True, cwd=API, timeout=_SECONDS, check=False
        )
        if done.returncode:
            raise LabError(f"the browser ended: {done.stderr[:500]}")
        for found in json.loads(done.stdout):
            outside = [f"asked {url}" for url in found["outside"]]
            yield Visit(found["name"], (*found["errors"], *outside))


def _commanded(store: str, commands: Sequence[tuple[str, str]]) -> Iterator[Visit]:
    """Run each command, for people and for programs in turn."""

    def run(words: tuple[str, str]) -> Visit:
        name, thing = words
        out = [] if name == "explain" else ["--output", "-"]
        program = [sys.executable, "-m", "quiclens_command_line", name, "--store", store, *out, "--", thing]
        done = subprocess.run(program, capture_output=True, text=True, check=False, errors="replace", timeout=_SECONDS)
        is_told = done.returncode in _COMMANDS and "Traceback" not in done.stderr
        return Visit(" ".join(words), () if is_told else (f"exit code {done.returncode}: {done.stderr[-500:]}",))

    with ThreadPoolExecutor(2) as threads:
        yield from threads.map(run, commands)
