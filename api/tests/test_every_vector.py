"""Cases of `schema/vectors` through the pages and routes of requests and connections: whatever a log holds, there is an
answer. A quarter of the connections and half of the requests, the same each time, and fewer in `make test`;
`quiclens-lab pages` takes all, through every view, command and a browser.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jsonschema_rs
import pytest
from long import one_of_so_many
from serve_process import Served, start

from quiclens_questions.reports import REPORTS

ROOT = Path(__file__).resolve().parents[2]
VECTORS = ROOT / "schema" / "vectors"
DOCUMENTS = ("", "/events", "/streams", "/counts", "/episodes", "/blocked", "/recovery", "/series")


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


class Schemas:
    """What the API promises of each document."""

    def __init__(self, served: Served) -> None:
        self._openapi = json.loads(served.request(b"", "GET", "/api/openapi.json", {}).body)
        self._checks: dict[str, Any] = {}

    def faults(self, path: str, body: bytes) -> list[str]:
        """Where the answer to a path is not as promised."""
        plain = path.partition("?")[0]
        address = next((each for each in self._openapi["paths"] if _fits(each, plain)), None)
        if address is None or not address.startswith("/api/"):
            return []
        if address not in self._checks:
            schema = self._openapi["paths"][address]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
            components = {"components": self._openapi["components"]}
            self._checks[address] = jsonschema_rs.validator_for(schema | components)
        wrong = self._checks[address].iter_errors(json.loads(body))
        return [f"{path}: {'/'.join(map(str, each.instance_path))}: {each.message}"[:300] for each in wrong]


def _fits(address: str, path: str) -> bool:
    """Whether the address of a route is that of a path; of several that fit, the first is the route that answers."""
    parts = re.split(r"\{\w+\}", address)
    return re.fullmatch(".+".join(map(re.escape, parts)), path) is not None


def failures(served: Served, paths: list[str]) -> list[str]:
    """Paths whose answer is not 200, or no document as promised, with what is said."""
    found, schemas = [], Schemas(served)
    with ThreadPoolExecutor(4) as threads:
        answers = list(threads.map(lambda path: served.request(b"", "GET", path, {"Accept": "text/html"}), paths))
    for path, got in zip(paths, answers, strict=True):
        if got.status != 200:
            found.append(f"{got.status} {path} {got.body[:200]!r}")
        else:
            found += schemas.faults(path, got.body)
    return found


@pytest.mark.parametrize(("of", "least"), [(8, 10), pytest.param(2, 50, marks=pytest.mark.long)])
def test_every_request_has_a_page(vectors: Served, of: int, least: int) -> None:
    requests = one_of_so_many(names(vectors, "request_id", "requests"), of)
    assert len(requests) > least
    assert not failures(vectors, [f"/requests/{name}" for name in requests])
    assert not failures(vectors, [f"/api/v1/requests/{name}" for name in requests])


def test_every_document_of_many_requests_is_as_promised(vectors: Served) -> None:
    window = "since=2000-01-01T00:00:00Z&step_s=2678400"
    paths = ["requests?limit=1000", "requests?by=carrier", "cells", "compare?a=complete=true&b=complete=false"]
    paths += ["different?min_ms=1", f"over-time?{window}", f"spent-over-time?{window}", f"heat?{window}"]
    paths += ["triage?since=2000-01-01T00:00:00Z", "deployments?since=2000-01-01T00:00:00Z"]
    paths += [f"reports/{name}" for name in REPORTS] + ["failed", "status", "audit", "watch"]
    assert not failures(vectors, [f"/api/v1/{path}" for path in paths])


@pytest.mark.parametrize(("of", "least"), [(16, 5), pytest.param(4, 25, marks=pytest.mark.long)])
def test_every_connection_has_a_page_its_events_and_its_export(vectors: Served, of: int, least: int) -> None:
    connections = one_of_so_many(names(vectors, "connection_id", "connections"), of)
    assert len(connections) > least
    paths = []
    for name in connections:
        paths += [f"/connections/{name}", *(f"/connections/{name}.{export}" for export in ("sqlog", "qlog"))]
        paths += [f"/api/v1/connections/{name}{document}" for document in DOCUMENTS]
    assert not failures(vectors, paths)
