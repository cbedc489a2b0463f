"""Every case of `schema/vectors` through the pages and routes of requests and connections: whatever a log holds, there
is an answer.

The routes of a connection are shared out among the connections, so that each route meets many logs.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from serve_process import Served, start

ROOT = Path(__file__).resolve().parents[2]
VECTORS = ROOT / "schema" / "vectors"
DOCUMENTS = ("", "/streams", "/counts", "/episodes", "/blocked", "/recovery", "/series")


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The inputs of all cases, loaded into one store and served."""
    store = tmp_path_factory.mktemp("vectors") / "store"
    words = [sys.executable, "-m", "quiclens_command_line", "load", str(VECTORS), "--store", f"chdb:{store}", "--json"]
    done = subprocess.run(words, capture_output=True, check=False, text=True)
    assert done.returncode == 1, done.stderr  # some inputs are bad on purpose
    served = start(store)
    yield served
    assert served.stop() == 0


def names(served: Served, column: str, table: str) -> list[str]:
    """Every value of a column, escaped for a path."""
    rows = served.one(f"SELECT DISTINCT {column} FROM {table} ORDER BY {column} FORMAT JSONEachRow").splitlines()
    return [quote(str(json.loads(row)[column]), safe="/" if column == "request_id" else "") for row in rows]


def failures(served: Served, paths: list[str]) -> list[str]:
    """Paths whose answer is not 200, with what is said."""
    found = []
    for path in paths:
        got = served.request(b"", "GET", path, {"Accept": "text/html"})
        if got.status != 200:
            found.append(f"{got.status} {path} {got.body[:200]!r}")
    return found


def test_every_request_has_a_page(vectors: Served) -> None:
    requests = names(vectors, "request_id", "requests")
    assert len(requests) > 100
    assert not failures(vectors, [f"/requests/{name}" for name in requests])


def test_every_connection_has_a_page_its_events_and_its_export(vectors: Served) -> None:
    connections = names(vectors, "connection_id", "connections")
    assert len(connections) > 100
    paths = []
    for number, name in enumerate(connections):
        export = ("sqlog", "qlog")[number % 2]
        paths += [f"/connections/{name}", f"/connections/{name}.{export}", f"/api/v1/connections/{name}/events"]
        paths.append(f"/api/v1/connections/{name}{DOCUMENTS[number % len(DOCUMENTS)]}")
    assert not failures(vectors, paths)
