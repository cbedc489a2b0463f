"""What `quiclens-collector run` adds of clients, and what it never writes: address, cookie, payload."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from mmdb import Value, database
from test_follow import COLLECTOR, Collector

pytestmark = pytest.mark.skipif(not COLLECTOR.is_file(), reason="the collector is not built")

CLIENT = "192.0.2.77"
MOVED = "192.0.2.177"
SECRETS = (CLIENT, MOVED, "2001:db8:7:8::9", "c00kie-value", "deadbeefcafe", "agent-smith", "c0000263")
HEADER = {
    "qlog_version": "0.3",
    "qlog_format": "JSON-SEQ",
    "trace": {
        "vantage_point": {"type": "server"},
        "common_fields": {"ODCID": "83a2c1d4e5f60718", "time_format": "relative", "peer": "2001:db8:7:8::9"},
        "configuration": {"note": f"started for {CLIENT}:41981"},
    },
}


def event(time: float, name: str, **data: Any) -> dict[str, Any]:
    return {"time": time, "name": name, "data": data}


EVENTS = [
    event(
        0,
        "transport:connection_started",
        remote={"ip_v4": CLIENT, "port_v4": 41981},
        preferred_address={"ip_v4": "c0000263"},
    ),
    event(
        1,
        "http:frame_parsed",
        stream_id=0,
        frame={
            "frame_type": "headers",
            "headers": [
                {"name": ":method", "value": "GET"},
                {"name": ":path", "value": "/kept"},
                {"name": "cookie", "value": "c00kie-value"},
                {"name": "user-agent", "value": "agent-smith"},
            ],
        },
    ),
    event(2, "http:frame_created", stream_id=0, frame={"frame_type": "data", "raw": {"data": "deadbeefcafe"}}),
    event(3, "transport:tuple_assigned", tuple_id="b", tuple_remote={"ip_v4": MOVED, "port_v4": 41982}),
    event(4, "transport:connection_closed", owner="remote", reason=f"no route to {CLIENT}:41981", code=1),
]
BROKEN = f'{{"time": 5, "name": "x:y", "data": {{"from": "{CLIENT}", "cookie": "c00kie-value"'


def written(part: list[dict[str, Any]]) -> bytes:
    return b"".join(b"\x1e" + json.dumps(each).encode() + b"\n" for each in part)


@pytest.fixture
def collector(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    monkeypatch.setenv("A_SECRET", "a secret of the deployment")
    databases: dict[str, dict[str, Value]] = {
        "asn": {"autonomous_system_number": 64500, "autonomous_system_organization": "Example Mobile"},
        "city": {"country": {"iso_code": "DE"}, "city": {"names": {"en": "Berlin"}}},
    }
    for name, record in databases.items():
        (tmp_path / f"{name}.mmdb").write_bytes(database("192.0.2.0/24", record))
    log = tmp_path / "access.log"
    log.write_text(
        f"{CLIENT}:41981 1795168800.500 0.250 GET /kept 200 h3\n"
        f"{MOVED}:41982 1795168801.500 0.250 GET /x 200 h3\nno {CLIENT}\n"
    )
    made = Collector(
        tmp_path / "run",
        redacts=True,
        more=f"""name = "host-1"
[enrich]
asn = "{tmp_path / "asn.mmdb"}"
city = "{tmp_path / "city.mmdb"}"
secret_env = "A_SECRET"
hosts = {{ "host-1" = {{ server = "edge-1", cluster = "a", pop = "ber1" }} }}
[[access_log]]
path = "{log}"
[access_log.format]
syntax = "nginx"
format = "$remote_addr:$remote_port $msec $request_time $request_method $request_uri $status $http3"
""",
    )
    yield made
    if made.process is not None:
        made.end(signal.SIGKILL)


def only(collector: Collector, table: str = "connections") -> dict[str, Any]:
    (row,) = collector.rows(table).values()
    return row


def test_a_failed_connection_has_its_client_s_dimensions_and_keeps_them_over_a_kill(collector: Collector) -> None:
    log = collector.logs / "trace.sqlog"
    log.write_bytes(written([HEADER, EVENTS[0]] + [event(0.5, "x:y", number=n) for n in range(70)]))
    collector.start()
    collector.wait(lambda: bool(collector.rows("connections")))
    collector.wait(lambda: len(collector.rows("request_lines")) == 2)
    before = only(collector)
    collector.end(signal.SIGKILL)
    with log.open("ab") as file:
        file.write(written(EVENTS[3:]))
    collector.start()
    collector.wait(lambda: only(collector)["events_seen"] == 73)
    after = only(collector)
    wanted = {
        "carrier": "Example Mobile",
        "asn": 64500,
        "country": "DE",
        "city": "Berlin",
        "client_network": "192.0.2.0/24",
        "server": "edge-1",
        "cluster": "a",
        "pop": "ber1",
    }
    for row in (before, after, *collector.rows("request_lines").values()):
        assert {name: row.get(name) for name in wanted} == wanted
    lines = [row["client_key"] for row in collector.rows("request_lines").values()]
    assert before["client_key"] == after["client_key"] == lines[0] and len(lines[0]) == 32
    keys = {alias for alias, _ in collector.rows("connection_aliases") if len(alias) == 32}
    assert keys == set(lines), "the client's second address is an alias too"


def test_nothing_that_may_not_be_kept_is_in_any_file(collector: Collector) -> None:
    content = written([HEADER, *EVENTS[:-1]]) + b"\x1e" + BROKEN.encode() + b"\n" + written(EVENTS[-1:])
    (collector.logs / "trace.sqlog").write_bytes(content)
    collector.start()
    collector.wait(lambda: len(collector.rows("rejects")) == 2)
    collector.wait(lambda: bool(collector.rows("streams")) and bool(only(collector)["close_reason"]))
    assert not only(collector)["complete"], "a record of it was rejected"
    assert collector.end(signal.SIGTERM) == 0
    files = list(collector.out.glob("*/*.arrow"))
    assert {"events", "connections", "request_lines", "rejects"} <= {file.parent.name for file in files}
    for file in files:
        plain = str(pa.ipc.open_stream(file).read_all().to_pylist()).encode()
        for secret in SECRETS:
            assert secret.encode() not in plain + file.read_bytes(), (file.parent.name, secret)
    assert all(not row.get("bytes") and row["length"] and row["hash"] for row in collector.rows("rejects").values())
    assert (only(collector, "streams")["path"], only(collector)["close_reason"]) == (
        "/kept",
        "no route to 192.0.2.0/24:41981",
    )


def test_without_redaction_all_of_it_is_kept(collector: Collector) -> None:
    text = collector.config.read_text()
    collector.config.write_text(text.replace("redact = true", "redact = false"))
    (collector.logs / "trace.sqlog").write_bytes(written([HEADER, *EVENTS]))
    collector.start()
    collector.wait(collector.is_complete)
    collector.wait(lambda: bool(collector.rows("rejects")))
    seen = str([collector.rows(table) for table in ("events", "connections", "rejects", "request_lines")])
    assert [secret for secret in SECRETS if secret not in seen] == []
