"""`quiclens lines` and `quiclens check` of a mapping, as somebody types them."""

import json
import os
import re
from pathlib import Path

import pytest
from api_ran import Run
from quiclens_ingest import mapping
from quiclens_schema import store as stores
from quiclens_schema.migrate import migrate

ROOT = Path(__file__).parents[2]
COLLECTOR = Path(os.environ.get("QUICLENS_COLLECTOR", ROOT / "target/release/quiclens-collector"))
PAGE = ROOT / "deploy" / "docs" / "your-own-table.md"

MAPPING = """
table = "http_log"
time = "ts"
[format.columns]
time = { from = "ts" }
duration_us = { from = "ms", unit = "ms" }
external_id = { from = "id" }
connection_id = { from = "cid" }
stream_id = { from = "sid" }
protocol = { from = "proto" }
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A store beside a table of somebody else's."""
    if not COLLECTOR.is_file():
        pytest.skip("no quiclens-collector: cargo build --release")
    monkeypatch.setenv("QUICLENS_COLLECTOR", str(COLLECTOR))
    (tmp_path / "m.toml").write_text(MAPPING)
    url = f"chdb:{tmp_path / 'store'}"
    rows = [
        {"ts": 1_795_168_800, "ms": 5, "id": "a", "cid": "aabbccdd", "sid": 0, "proto": "h3"},
        {"ts": 1_795_168_801, "ms": 6, "id": "b", "cid": "aabbccdd", "sid": None, "proto": "h3"},
        {"ts": 1_795_168_802, "ms": 7, "id": "c", "cid": None, "sid": None, "proto": "h2"},
        {"ts": None, "ms": 7, "id": "never", "cid": None, "sid": None, "proto": "h2"},
    ]
    with stores.open(url) as store:
        migrate(store)
        columns = (
            "ts Nullable(DateTime), ms UInt32, id String, cid Nullable(String), sid Nullable(UInt64), proto String"
        )
        store.command(f"CREATE TABLE http_log ({columns}) ENGINE = MergeTree ORDER BY tuple()")
        store.command("INSERT INTO http_log FORMAT JSONEachRow\n" + "\n".join(map(json.dumps, rows)))
    return url


def test_check_says_by_what_lines_can_be_joined_and_what_they_lack(run: Run, own: str, tmp_path: Path) -> None:
    ran = run("check", str(tmp_path / "m.toml"), "--store", own, "--json")
    document = ran.document
    assert ran.code == 1  # something is rejected
    assert {name: document[name] for name in ("looked_at", "lines", "by_id", "by_client", "over_tcp", "neither")} == {
        "looked_at": 4, "lines": 3, "by_id": 1, "by_client": 0, "over_tcp": 1, "neither": 1,
    }  # fmt: skip
    assert document["lacks"] == {"stream_id": 1, "client_key": 1, "method": 1, "path": 1}
    assert (document["without_time"], document["rejected"]) == (1, {"no_time": 1})
    assert json.loads(document["rejected_text"])["id"] == "never"
    told = run("check", str(tmp_path / "m.toml"), "--store", own).out
    assert "missing in 1: stream_id, the stream's id" in told and "1 rows have no time" in told
    with stores.open(own) as store:
        assert store.query("SELECT count() FROM request_lines").one() == (0,)


def test_lines_are_requests_once_they_are_taken(run: Run, own: str, tmp_path: Path) -> None:
    words = ("lines", str(tmp_path / "m.toml"), "--since", "2026-11-01", "--store", own)
    ran = run(*words, "--json")
    assert (ran.code, ran.document["rows"], ran.document["lines"]) == (0, 3, 3)
    found = run("slow", "--store", own, "--json").document["requests"]
    assert {(each["external_id"], each["duration_us"]) for each in found} == {("a", 5000), ("b", 6000), ("c", 7000)}
    assert "table http_log: 0 rows, 0 request lines" in run(*words).out


def test_what_cannot_be_is_told_with_what_to_do(run: Run, own: str, tmp_path: Path) -> None:
    bad = tmp_path / "bad.toml"
    bad.write_text("table = 'x'\n")
    ran = run("lines", str(bad), "--store", own, "--json")
    assert ran.code == 2 and "a table needs time" in ran.document["error"]["message"]
    bad.write_text(MAPPING.replace("http_log", "nowhere"))
    ran = run("check", str(bad), "--store", own, "--json")
    assert ran.code == 3 and "there is no table default.nowhere" in ran.document["error"]["message"]
    ran = run("lines", str(tmp_path / "m.toml"), "--follow", "--store", own, "--json")
    assert ran.code == 2 and "quiclens serve" in ran.document["error"]["hint"]


@pytest.mark.parametrize("block", re.findall(r"^```toml\n(.*?)^```", PAGE.read_text(), re.M | re.S))
def test_the_mappings_that_the_page_shows_are_mappings(block: str, tmp_path: Path) -> None:
    path = tmp_path / "m.toml"
    path.write_text(block)
    assert mapping.read(path).fields
