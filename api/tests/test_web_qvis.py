"""What a qvis served beside us asks for."""

import json
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from api_seed import FAILED as OTHER
from api_seed import A as CONNECTION
from serve_process import until
from test_web_access import LOCKED, bearer
from web_client import client

from quiclens_web.api.exports import Export, Exports
from quiclens_web.api.settings import ExportLimits, QuestionLimits
from quiclens_web.front.faults import Fault

# Says that it runs, and waits until it may end.
WAITS = """
import os, time
from pathlib import Path
folder = Path({folder!r})
(folder / f"{{os.getpid()}}.pid").touch()
while not (folder / "go").exists():
    time.sleep(0.01)
print("{{}}")
"""
FILE = f"/connections/{CONNECTION}.sqlog"


def test_several_connections_are_one_file_with_a_trace_of_each(store_url: str) -> None:
    with client(store_url) as web:
        text = web.get(f"/connections/{CONNECTION}.sqlog").text
        alone = [json.loads(record) for record in text.split("\x1e") if record.strip()]
        file = f"http://elsewhere.example/connections/{CONNECTION}.sqlog"
        answer = web.get("/loadfiles", params={"file1": file, "file2": f"/connections/{OTHER}.qlog", "desc1": "x"})
    assert answer.status_code == 200
    root = answer.json()["qlog"]
    assert root["qlog_version"] == alone[0]["qlog_version"] and root["qlog_format"] == "JSON"
    assert len(root["traces"]) == 2 and root["traces"][0] != root["traces"][1]
    assert root["traces"][0] == {**alone[0]["trace"], "events": alone[1:]} and len(alone) > 1


@pytest.mark.parametrize(
    ("query", "status", "code"),
    [
        ("", 422, "usage"),
        ("file=http://169.254.169.254/latest/meta-data", 422, "usage"),
        ("file=file:///etc/passwd", 422, "usage"),
        ("file1=/connections/nothing.sqlog", 404, "not_found"),
        ("&".join(f"file{number}=/connections/{CONNECTION}.sqlog" for number in range(11)), 422, "usage"),
    ],
)
def test_what_is_not_ours_is_not_fetched(store_url: str, query: str, status: int, code: str) -> None:
    with client(store_url) as web:
        answer = web.get(f"/loadfiles?{query}")
    assert (answer.status_code, answer.json()["code"]) == (status, code)


def test_a_connection_that_is_named_again_is_in_the_file_once(store_url: str) -> None:
    with client(store_url) as web:
        answer = web.get("/loadfiles", params={f"file{number}": FILE for number in range(10)})
    assert len(answer.json()["qlog"]["traces"]) == 1


@pytest.mark.parametrize("path", [FILE, f"/loadfiles?file={FILE}"])
def test_exports_on_disk_are_bounded_for_all_and_for_one_visitor(store_url: str, path: str) -> None:
    with client(store_url) as web:
        size = len(web.get(FILE).content)
    with client(store_url, exports=ExportLimits(files_bytes=4 * size + 1000)) as web:
        for _ in range(5):
            assert web.get(path).status_code == 200, "what was sent counts no more"
    with client(store_url, exports=ExportLimits(files_bytes=2 * size - 2)) as web:
        for _ in range(2):
            refused = web.get(path)
            assert refused.status_code == 503 and refused.json()["code"] == "no_memory"
            assert refused.headers["retry-after"] == "1"
    with client(store_url, exports=ExportLimits(seconds=0)) as web:
        assert web.get(path).json()["code"] == "too_slow"


def test_an_export_that_nobody_waits_for_counts_no_more() -> None:
    exports = Exports(ExportLimits(files_bytes=20), QuestionLimits())
    for _ in range(3):
        draft = Export(exports, "ada").draft()
        draft.holds(10)
        with pytest.raises(Fault):
            Export(exports, "ada").draft().holds(1)
        Export(exports, "bob").draft().holds(10)
        del draft


def test_one_visitor_has_half_of_the_places(
    store_url: str, tmp_path: Path, fake_collector: Callable[[str], Path]
) -> None:
    fake_collector(WAITS.format(folder=os.fspath(tmp_path)))
    limits = QuestionLimits(at_once=4, wait_seconds=1)
    with client(store_url, access=LOCKED, limits=limits) as web, ThreadPoolExecutor(6) as pool:

        def status(token: str) -> int:
            return int(web.get(FILE, headers=bearer(token)).status_code)

        first = [pool.submit(status, "read") for _ in range(4)]
        assert until(lambda: sum(each.done() for each in first) == 2)
        assert [each.result() for each in first if each.done()] == [429] * 2
        second = pool.submit(status, "write")
        assert until(lambda: len(list(tmp_path.glob("*.pid"))) == 3), "another visitor has a place"
        (tmp_path / "go").touch()
        assert sorted(each.result() for each in (*first, second)) == [200] * 3 + [429] * 2
