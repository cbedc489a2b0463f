"""A line of each access-log format, and the records of each log, that the servers' pages show are read as they say."""

import json
import os
import re
import tomllib
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from document_items import ROOT, items
from quiclens_schema import store as stores
from serve_process import quiclens

COLLECTOR = Path(os.environ.get("QUICLENS_COLLECTOR", ROOT / "target/release/quiclens-collector"))
SERVERS = "deploy/docs/servers/"
pytestmark = pytest.mark.skipif(not COLLECTOR.is_file(), reason="no quiclens-collector: cargo build --release")


@dataclass(frozen=True)
class Line:
    """A line as a server with the page's setting writes it, and columns of its row."""

    page: str
    line: str
    row: dict[str, Any]
    server_has: str = ""  # the language of the block in which the server's own setting has the same format


# What each of the lines tells, of a request at 10 o'clock and 123 milliseconds.
ALL = {"method": "GET", "path": "/a", "status": 200, "protocol": "h3", "client_network": "192.0.2.0/24"}
LINES = [
    Line(
        "haproxy.md",
        "<134>Nov 24 10:00:00 edge-1 haproxy[812]: 192.0.2.7:50123 1795514400123456 "
        '"GET /a HTTP/3.0" 200 5120 37 4 21000 3500 2 0e4d9f',
        {"time": "10:00:00.123456", "time_is": "start", "duration_us": 37_000, "response_bytes": 5120, "stream_id": 4,
         "rtt_us": 21_000, "rtt_variance_us": 3500, "external_id": "0e4d9f", "more.fc_lost": '"2"'},
        "haproxy",
    ),
    Line(
        "lsquic.md",
        '192.0.2.7:50123 1795514400123456 37456 "GET /a HTTP/3" 200 5120 example.net r-1',
        {"time": "10:00:00.123456", "time_is": "start", "duration_us": 37_456, "response_bytes": 5120,
         "authority": "example.net", "external_id": "r-1"},
        "text",
    ),
    Line(
        "msquic.md",
        '{"ts": 1795514400123, "duration_ms": 37.5, "protocol": "HTTP/3", "remote_ip": "192.0.2.7", "status": 200, '
        '"remote_port": 50123, "method": "GET", "path": "/a", "stream_id": 8, "authority": "example.net"}',
        {"time": "10:00:00.123", "time_is": "start", "duration_us": 37_500, "authority": "example.net", "stream_id": 8},
    ),
    Line(
        "ngtcp2.md",
        '192.0.2.7:50123 2026-11-24T10:00:00.123Z 0.037 h3 "GET /a HTTP/3" 200 5120 r-1',
        {"time": "10:00:00.123", "time_is": "start", "duration_us": 37_000, "response_bytes": 5120,
         "external_id": "r-1"},
    ),
    Line(
        "quiche-nginx.md",
        '192.0.2.7:50123 1795514400.123 0.037 "GET /a HTTP/3.0" example.net 200 5120 h3 3 5f2a',
        {"time": "10:00:00.123", "time_is": "end", "duration_us": 37_000, "authority": "example.net", "stream_id": 8,
         "external_id": "5f2a"},
        "nginx",
    ),
]  # fmt: skip


def blocks(page: str, kind: str) -> list[str]:
    return [item.text for item in items() if item.page == SERVERS + page and item.kind == kind and item.form == "block"]


def log_of(page: str) -> dict[str, Any]:
    """The one access log of a page that has a format of its own."""
    logs = [log for block in blocks(page, "toml") for log in tomllib.loads(block)["access_log"]]
    (found,) = [log for log in logs if "syntax" in log["format"]]
    return dict(found)


def stored(text: str, settings: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The row that `quiclens load` makes of a line. The settings are the page's, as a file of their own."""
    columns = {f"columns.{name}": column for name, column in settings.get("columns", {}).items()}
    settings = {name: value for name, value in settings.items() if name != "columns"} | columns
    (folder / "format.toml").write_text("".join(map(as_toml, settings.items())), encoding="utf-8")
    (folder / "access.log").write_text(text + "\n", encoding="utf-8")
    store = f"chdb:{folder / 'store'}"
    words = ["--requests", str(folder / "access.log"), "--requests-format", str(folder / "format.toml"), "--redact"]
    assert quiclens("load", *words, "--store", store)["rejected"] == {}
    with stores.open(store) as opened:
        (row,) = opened.query("SELECT * FROM request_lines FINAL").dicts()
    return dict(row)


def as_toml(setting: tuple[str, Any]) -> str:
    name, value = setting
    if isinstance(value, dict):
        return f"{name} = {{ {', '.join(as_toml(each).strip() for each in value.items())} }}\n"
    return f"{name} = {json.dumps(value)}\n"


@pytest.mark.parametrize("case", LINES, ids=lambda case: case.page)
def test_a_line_is_read_as_the_page_says(case: Line, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUICLENS_COLLECTOR", str(COLLECTOR.resolve()))
    row = stored(case.line, log_of(case.page)["format"], tmp_path)
    at = datetime.fromisoformat(f"2026-11-24T{case.row['time']}").replace(tzinfo=UTC)
    more = {name: value for name, value in case.row.items() if name.startswith("more.")}
    assert {name: row["more"][name.removeprefix("more.")] for name in more} == more
    wanted = ALL | {name: value for name, value in case.row.items() if name not in more} | {"time": at}
    assert {name: row[name] for name in wanted} == wanted


@pytest.mark.parametrize("case", [case for case in LINES if case.server_has], ids=lambda case: case.page)
def test_the_server_is_told_the_format_that_quiclens_is_told(case: Line) -> None:
    (block,) = blocks(case.page, case.server_has)
    assert log_of(case.page)["format"]["format"] in block.replace('\\"', '"')


def test_nghttpx_is_told_the_format_that_quiclens_is_told() -> None:
    page = (ROOT / SERVERS / "ngtcp2.md").read_text(encoding="utf-8")
    (option,) = re.findall(r"`--accesslog-format='([^']*)'`", page)
    assert option == log_of("ngtcp2.md")["format"]["format"]


def test_every_page_with_a_format_has_a_line() -> None:
    """Envoy's is in `test_envoy.py`."""
    pages = {item.page.removeprefix(SERVERS) for item in items() if item.kind == "toml" and "\nsyntax = " in item.text}
    assert {page for page in pages if "/" not in page} == {case.page for case in LINES} | {"envoy.md"}


def test_a_request_of_the_records_that_s2n_quic_could_write_is_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUICLENS_COLLECTOR", str(COLLECTOR.resolve()))
    (block,) = blocks("s2n-quic.md", "json")
    records = block.splitlines()
    # As the page says: 0x1E, an object, a line feed.
    (tmp_path / "s2n.sqlog").write_text("".join(f"\x1e{record}\n" for record in records), encoding="utf-8")
    store = f"chdb:{tmp_path / 'store'}"
    loaded = quiclens("load", str(tmp_path / "s2n.sqlog"), "--store", store)
    assert (loaded["events"], loaded["rejected"]) == (len(records) - 1, {})
    connection = json.loads(records[0])["trace"]["common_fields"]["group_id"]
    explained = quiclens("explain", f"{connection}/0", "--store", store)
    times = [json.loads(record).get("time") for record in records]
    assert explained["duration_us"] == round((times[5] - times[3]) * 1000)
    assert sum(part["us"] for part in explained["parts"]) == explained["duration_us"]
    parts = {part["cause"]: part["us"] for part in explained["parts"]}
    assert parts["server_think"] == round((times[4] - times[3]) * 1000)
