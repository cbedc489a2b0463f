"""A client that openapi-python-client makes of the OpenAPI document, asked as a program of somebody else's would be.

The generator has an environment of its own (`make .made/client-tools/made`); without it the test is skipped.
"""

import json
import subprocess
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from api_seed import TABLES
from serve_process import Served, start
from store_rows import fill

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ROOT / ".made" / "client-tools" / "bin"

pytestmark = pytest.mark.skipif(not (TOOLS / "openapi-python-client").is_file(), reason="make .made/client-tools/made")

# What a stranger would write: every request of the store, page by page, each explained, and the tail of all.
PROGRAM = """
import json, sys
from quiclens_client import Client
from quiclens_client.api.connections import connection, connection_events
from quiclens_client.api.reports import report
from quiclens_client.api.requests import explain_request, slow_requests

client = Client(base_url=sys.argv[1], raise_on_unexpected_status=True)
found, after = [], ""
while after is not None:
    page = slow_requests.sync(client=client, limit=2, after=after)
    found += page.requests
    after = page.next_
told = [explain_request.sync(request_id=each.request_id, client=client) for each in found]
parts = {each.request_id: [[part.cause, part.us] for part in each.parts] for each in told}
traced = next(each for each in found if each.connection_id)
events = connection_events.sync(connection_id=traced.connection_id, client=client, limit=3)
tail = report.sync(name="tail", client=client)
missing = explain_request.sync(request_id="nobody/1", client=client)
print(json.dumps({
    "requests": [each.to_dict() for each in found],
    "parts": parts,
    "events": [each.to_dict() for each in events.events],
    "ids": connection.sync(connection_id=traced.connection_id, client=client).to_dict()["ids"],
    "tail": tail.to_dict(),
    "missing": [missing.status, missing.code],
}))
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    store = tmp_path_factory.mktemp("client") / "store"
    fill(store, TABLES)
    running = start(store)
    yield running
    assert running.stop() == 0


def asked(served: Served, path: str) -> Any:
    got = served.request(b"", "GET", path, {})
    assert got.status == 200, path
    return json.loads(got.body)


def dated(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows with their instants read."""
    return [row | {"started_at": row["started_at"] and datetime.fromisoformat(row["started_at"])} for row in rows]


def test_a_generated_client_reads_what_is_answered(served: Served, tmp_path: Path) -> None:
    (tmp_path / "openapi.json").write_text(json.dumps(asked(served, "/api/openapi.json")))
    (tmp_path / "config.yaml").write_text("post_hooks: []\n")
    words = [str(TOOLS / "openapi-python-client"), "generate", "--meta", "none", "--config", "config.yaml"]
    words += ["--path", "openapi.json", "--output-path", "quiclens_client"]
    made = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stdout + made.stderr
    # Whatever it cannot read it leaves out with a warning: pictures and files, no document.
    left_out = [line for line in made.stdout.splitlines() if line.startswith("WARNING")]
    assert all(".sqlog" in line or ".qlog" in line or "/picture" in line for line in left_out), left_out

    run = [str(TOOLS / "python"), "-c", PROGRAM, f"http://127.0.0.1:{served.port}"]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)

    requests = asked(served, "/api/v1/requests?limit=1000")["requests"]
    assert dated(told["requests"]) == dated(requests)  # the client reads instants and writes them in its own way
    for each in requests:
        explained = asked(served, f"/api/v1/requests/{each['request_id']}")
        assert told["parts"][each["request_id"]] == [[part["cause"], part["us"]] for part in explained["parts"]]
    connection_id = next(each["connection_id"] for each in requests if each["connection_id"])
    assert told["events"] == asked(served, f"/api/v1/connections/{connection_id}/events?limit=3")["events"]
    assert told["ids"] == asked(served, f"/api/v1/connections/{connection_id}")["ids"]
    assert told["tail"] == asked(served, "/api/v1/reports/tail")
    assert told["missing"] == [404, "not_found"]
