"""Uploads: few are read at one time, fewer of one visitor; files that wait are bounded in bytes; and a collector whose
client went away is ended.
"""

import asyncio
import json
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from prometheus_client import CollectorRegistry
from quiclens_schema import store as stores
from serve_process import Served, until
from test_web_access import LOCKED, bearer
from web_client import app_of, client

from quiclens_web.api.settings import UploadLimits
from quiclens_web.front.access import Access
from quiclens_web.front.metrics import FrontMetrics

UPLOAD = "/api/v1/traces"
# Says that it runs, waits until it may end, and says that it found nothing.
WAITS = """
import json, os, time
from pathlib import Path
folder = Path({folder!r})
(folder / f"{{os.getpid()}}.pid").touch()
while not (folder / "go").exists():
    time.sleep(0.01)
counts = dict.fromkeys(("files", "connections", "events", "requests", "values_unread", "bytes"), 0)
print(json.dumps({{"summary": {{**counts, "rejected": {{}}, "limits_crossed": {{}}, "seconds": 0.0}}}}))
"""


class Waiting:
    """A collector that runs until it may end."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def pids(self) -> list[int]:
        return [int(path.stem) for path in self._folder.glob("*.pid")]

    def end(self) -> None:
        (self._folder / "go").touch()


@pytest.fixture
def waiting(fake_collector: Callable[[str], Path], tmp_path: Path) -> Iterator[Waiting]:
    fake_collector(WAITS.format(folder=os.fspath(tmp_path)))
    made = Waiting(tmp_path)
    yield made
    made.end()


def sample(registry: CollectorRegistry, name: str, **labels: str) -> float:
    return registry.get_sample_value(f"quiclens_serve_{name}", labels) or 0.0


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def send(web: TestClient, token: str) -> tuple[int, str, str]:
    answer = web.post(UPLOAD, content=b"x" * 100, headers=bearer(token))
    return answer.status_code, str(answer.json()["code"]), answer.headers.get("retry-after", "")


def test_so_many_collectors_run_at_once_and_fewer_of_one_visitor(served: Served, waiting: Waiting) -> None:
    metrics, limits = FrontMetrics(), UploadLimits(at_once=3, of_one=2, wait_seconds=0.3)
    with (
        client(served.url, access=LOCKED, metrics=metrics, uploads=limits) as web,
        ThreadPoolExecutor(40) as pool,
    ):
        first = [pool.submit(send, web, "upload") for _ in range(40)]
        assert until(lambda: len(waiting.pids()) == 2)
        assert until(lambda: sum(each.done() for each in first) == 38, 30), "one visitor has two places"
        refused = [each for each in first if each.done()]
        assert {each.result() for each in refused} == {(503, "too_many_uploads", "10")}
        assert web.get("/static/dom.js").status_code == 200
        second = pool.submit(send, web, "write")
        assert until(lambda: len(waiting.pids()) == 3), "another visitor has the third"
        assert sample(metrics.registry, "running", kind="uploads") == 3
        assert send(web, "write") == (503, "too_many_uploads", "10"), "all places are taken"
        waiting.end()
        read = [each.result() for each in (*first, second) if each not in refused]
        assert [(status, code) for status, code, _ in read] == [(422, "no_trace")] * 3
        assert send(web, "write")[:2] == (422, "no_trace"), "the places are free again"
        assert sample(metrics.registry, "running", kind="uploads") == 0


def test_files_that_wait_are_bounded_for_all_and_for_one_visitor(served: Served, waiting: Waiting) -> None:
    waiting.end()
    with client(served.url, uploads=UploadLimits(files_bytes=2_000)) as web:
        for _ in range(3):
            refused = web.post(UPLOAD, content=b"x" * 1_001)
            assert refused.status_code == 503 and refused.json()["code"] == "no_memory"
            assert refused.headers["retry-after"] == "1"
            assert web.post(UPLOAD, content=b"x" * 1_000).json()["code"] == "no_trace"


def test_files_of_several_visitors_are_counted_together(served: Served, waiting: Waiting) -> None:
    limits = UploadLimits(files_bytes=250, at_once=3, of_one=2, wait_seconds=0.3)
    with client(served.url, access=LOCKED, uploads=limits) as web, ThreadPoolExecutor(2) as pool:
        held = [pool.submit(send, web, token) for token in ("write", "upload")]
        assert until(lambda: len(waiting.pids()) == 2)
        proxied = web.post(UPLOAD, content=b"x" * 100, headers=bearer("write"))
        assert proxied.status_code == 503 and proxied.json()["code"] == "no_memory"
        waiting.end()
        assert [each.result()[1] for each in held] == ["no_trace"] * 2


def asked(body: bytes, is_gone: Callable[[], bool]) -> tuple[dict[str, Any], Any]:
    """An upload as ASGI tells it: its body, and that the client is gone once that is true."""
    headers = [(b"host", b"127.0.0.1:8123"), (b"content-length", str(len(body)).encode())]
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST", "path": UPLOAD,
        "raw_path": UPLOAD.encode(), "query_string": b"", "root_path": "", "scheme": "http", "headers": headers,
        "client": ("127.0.0.1", 50_000), "server": ("127.0.0.1", 8123), "state": {},
    }  # fmt: skip
    told = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def receive() -> dict[str, Any]:
        if (message := next(told, None)) is not None:
            return message
        while not is_gone():
            await asyncio.sleep(0.01)
        return {"type": "http.disconnect"}

    return scope, receive


def test_a_client_that_goes_away_ends_its_collector_and_frees_its_place(served: Served, waiting: Waiting) -> None:
    metrics, sent = FrontMetrics(), list[int]()

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            sent.append(message["status"])

    with stores.open(served.url) as store:
        limits = UploadLimits(at_once=1, of_one=1, wait_seconds=5)
        app = app_of(store, Access(), metrics, uploads=limits)

        async def twice() -> None:
            for number in (1, 2):
                await app(*asked(b"x", lambda number=number: len(waiting.pids()) == number), send)  # type: ignore[misc]

        asyncio.run(asyncio.wait_for(twice(), 60))
    assert sent == [499, 499]
    assert len(waiting.pids()) == 2 and not any(is_alive(pid) for pid in waiting.pids())
    assert sample(metrics.registry, "uploads_given_up_total") == 2
    assert sample(metrics.registry, "running", kind="uploads") == 0
    assert sample(metrics.registry, "unexpected_errors_total", route=UPLOAD) == 0


def test_a_body_that_is_cut_is_no_error_of_ours(served: Served) -> None:
    metrics, sent = FrontMetrics(), list[int]()

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            sent.append(message["status"])

    with stores.open(served.url) as store:
        app = app_of(store, Access(), metrics)
        scope, _ = asked(b"x", lambda: True)
        told = iter([{"type": "http.request", "body": b"x", "more_body": True}, {"type": "http.disconnect"}])

        async def receive() -> Any:
            return next(told)

        asyncio.run(asyncio.wait_for(app(scope, receive, send), 60))
    assert sent == [499] and sample(metrics.registry, "unexpected_errors_total", route=UPLOAD) == 0


def test_a_collector_that_fails_is_told_with_its_last_words(
    served: Served, fake_collector: Callable[[str], Path]
) -> None:
    fake_collector("sys.exit('a reason')")
    with client(served.url) as web:
        answer = web.post(UPLOAD, content=b"x")
    assert answer.status_code == 503 and "a reason" in json.loads(answer.text)["detail"]
