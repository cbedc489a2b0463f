"""An anonymous export has the same parts, to the microsecond, and nobody in it."""

import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from quiclens_schema import store as stores
from quiclens_schema.store import Store

from quiclens_command_line.loading import load_into
from quiclens_command_line.main import main
from quiclens_questions import collector
from quiclens_questions.anonymous import Anonymiser, header_of, words
from quiclens_questions.export import ExportRequest, chosen, export
from quiclens_questions.failure import CannotRun

VECTORS = Path(__file__).parents[2] / "schema" / "vectors"
# Runs of one simulated connection: their traces go by one id.
_ALIKE = re.compile(r"aioquic_(?!think_server|burst_loss_client)")
_OWN = {
    "connection_id", "trace_id", "vantage", "version", "trace_day", "started_at", "method", "authority", "path",
    "status", "external_id",
}  # fmt: skip
CANARIES = (
    "203.0.113.77:4433", "2001:db8:77::4d", "2001:0db8:0077:0000:0000:0000:0000:004d", "::ffff:203.0.113.77",
    "[2001:db8:77::4d]:443", "2001%3Adb8%3A77%3A%3A4d", "203%2E0%2E113%2E77", r"203\u002e0\u002e113\u002e77",
    "/canary/private?token=7f", "Jane Canary",
)  # fmt: skip
NEEDLES = re.compile(
    rb"203.{1,6}0.{1,6}113|2001:0?db8|2001%3a0?db8|ffff:203|:4433|%3adb8|%2e113|u002e|canary|private|token=",
    re.IGNORECASE,
)
Trace = tuple[str, str, str]


def rows(store: Store, table: str) -> dict[Trace, list[Any]]:
    """Rows of each trace, without what names it or says when it was."""
    asked = "SELECT name FROM system.columns WHERE database = currentDatabase() AND table = {table:String} LIMIT 500"
    names = [f"`{name}`" for (name,) in store.query(asked, {"table": table}).rows if name not in _OWN]
    found: dict[Trace, list[Any]] = {}
    for row in store.query(f"SELECT connection_id, vantage, trace_id, {', '.join(names)} FROM {table} FINAL").rows:
        found.setdefault(row[:3], []).append(row[3:])
    return {trace: sorted(each, key=repr) for trace, each in found.items()}


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder: `a` has every case, `out` an anonymous export of each of its traces, `names.json` which is which."""
    try:
        collector.find()
    except CannotRun as missing:
        pytest.skip(missing.message)
    folder = tmp_path_factory.mktemp("anonymous")
    (folder / "out").mkdir()
    names: dict[str, Trace] = {}
    with stores.open(f"chdb:{folder / 'a'}") as store:
        load_into(store, [path for path in VECTORS.glob("*/input*") if not _ALIKE.match(path.parent.name)], [])
        for number, (trace, kind) in enumerate(traces(store)):
            if kind not in ("quic_trace", "line_v1"):
                file = folder / "out" / f"{number}.sqlog"
                wanted = ExportRequest(trace[0], "sqlog", "as-is", file, trace[1], trace[2], is_anonymous=True)
                found = chosen(store, wanted)
                assert found is not None
                export(store, wanted, found, sys.stdout.buffer)
                names[file.name] = trace
    (folder / "names.json").write_text(json.dumps(names))
    return folder


def traces(store: Store) -> Iterator[tuple[Trace, str]]:
    for row in store.query("SELECT connection_id, vantage, trace_id, serialization FROM connections FINAL").rows:
        yield row[:3], row[3]


@pytest.mark.long
def test_the_parts_of_every_case_are_the_same(exported: Path) -> None:
    names: Mapping[str, Trace] = {
        name: tuple(x) for name, x in json.loads((exported / "names.json").read_text()).items()
    }
    assert len(names) > 100
    with stores.open(f"chdb:{exported / 'a'}") as store:
        before = {table: rows(store, table) for table in ("streams", "episodes")}
    with stores.open(f"chdb:{exported / 'b'}") as store:
        load_into(store, [exported / "out"], [])
        files = store.query("SELECT connection_id, vantage, trace_id, source_file FROM connections FINAL").rows
        of = {row[:3]: names[Path(row[3]).name] for row in files}
        after = {table: rows(store, table) for table in before}
    assert set(of.values()) == set(names.values())
    for table, found in before.items():
        again = {of[trace]: each for trace, each in after[table].items()}
        for trace in names.values():
            assert again.get(trace, []) == found.get(trace, []), (table, trace)
    assert sum(map(len, after["streams"].values())) > 100


@pytest.mark.long
def test_no_id_of_a_trace_is_in_its_export(exported: Path) -> None:
    for name, (connection, _, trace) in json.loads((exported / "names.json").read_text()).items():
        text = (exported / "out" / name).read_text()
        assert trace not in text and (len(connection) < 8 or connection not in text), name


def every_way(value: Any, canary: str) -> Any:
    """The same value with the canary in place of every text and in every name."""
    if isinstance(value, dict):
        return {f"{key}{canary}": every_way(each, canary) for key, each in value.items()} | {
            key: every_way(each, canary) for key, each in value.items()
        }
    if isinstance(value, list):
        return [every_way(each, canary) for each in value]
    return canary if isinstance(value, str) else value


RECORDS = [
    {"time": 1.5, "name": "transport:packet_sent", "data": {
        "header": {"packet_type": "1RTT", "dcid": "aa", "scid": "bb", "token": {"data": "cc", "type": "retry"}},
        "frames": [{"frame_type": "stream", "stream_id": "4", "raw": {"data": "dd"}},
                   {"frame_type": "new_token", "token": "x"}],
        "raw": {"length": 7}, "trigger": "pto_probe"}},
    {"time": 2, "name": "http:frame_created", "data": {"frame": {"headers": [{"name": ":path", "value": "/"}]}}},
    {"time": 3, "name": "connectivity:connection_started", "data": {"src_ip": "a", "dst_ip": "b", "src_port": 1}},
    ["4", "TRANSPORT", "PACKET_SENT", {"packet_number": "5", "reason": "r"}],
]  # fmt: skip


@pytest.mark.parametrize("canary", CANARIES)
def test_a_canary_in_every_text_and_name_is_gone(canary: str) -> None:
    assert NEEDLES.search(canary.encode())
    anonymiser = Anonymiser()
    for record in RECORDS:
        made = json.dumps(anonymiser.record(every_way(record, canary)))
        assert not NEEDLES.search(made.encode()), made
        assert json.dumps(anonymiser.record(every_way(record, canary))) == made
    header = {"file": {"title": "t", "qlog_version": "0.3"}, "trace": {"common_fields": {"ODCID": "a", "carrier": "b"},
              "vantage_point": {"name": "n", "type": "server"}, "configuration": {"time_units": "ms"}}}  # fmt: skip
    for dialect in ("generic", "aioquic", "mvfst", "nothing"):
        assert not NEEDLES.search(header_of(json.dumps(every_way(header, canary)), dialect).encode())


def test_canaries_in_a_log_are_not_in_its_export(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], exported: Path
) -> None:
    canary = " ".join(CANARIES)
    lines = (VECTORS / "rule_bandwidth_rate" / "input.sqlog").read_text().splitlines()
    header = json.loads(lines[0].lstrip("\x1e"))
    header |= {"title": canary, "description": canary}
    header["trace"] |= {"title": canary, "configuration": {"original_uris": [canary]}}
    header["trace"]["common_fields"] |= {name: canary for name in ("carrier", "server", "city", "user", "group")}
    planted = [json.dumps(header)]
    for line in lines[1:]:
        record = json.loads(line.lstrip("\x1e"))
        record["data"] |= {"note": canary, canary: 1, "more": [canary, {"deep": canary}]}
        record["data"].get("header", {}).update(token={"data": canary}, version=canary)
        planted += [json.dumps(record), json.dumps({"time": record["time"], "name": f"app:{canary}", "data": canary})]
    (tmp_path / "planted.sqlog").write_text("\n".join(planted) + "\n")
    url = f"chdb:{tmp_path / 'store'}"
    assert main(["load", str(tmp_path / "planted.sqlog"), "--store", url]) in (0, 1)
    plain, bare = tmp_path / "plain.sqlog", tmp_path / "bare.sqlog"
    assert main(["export", "4e3e06d1", "-o", str(plain), "--as-is", "--store", url]) == 0
    assert main(["export", "4e3e06d1", "-o", str(bare), "--anonymous", "--store", url, "--json"]) == 0
    assert NEEDLES.search(plain.read_bytes())
    assert not NEEDLES.search(bare.read_bytes()) and b"4e3e06d1" not in bare.read_bytes()
    assert bare.read_bytes().count(b"\n") == plain.read_bytes().count(b"\n") == len(planted)


def test_two_exports_share_no_pseudonym() -> None:
    one, two = (Anonymiser().record({"data": {"header": {"dcid": "aabbccdd"}}}) for _ in range(2))
    assert re.fullmatch("[0-9a-f]{8}", one["data"]["header"]["dcid"]) and one != two


def test_what_is_no_sequence_of_qlog_is_refused(exported: Path, capsys: pytest.CaptureFixture[str]) -> None:
    url = f"chdb:{exported / 'a'}"
    assert main(["export", "x", "-o", "x.qlog", "--anonymous", "--store", url]) == 2
    assert main(["export", "x", "-o", "x.sqlog", "--anonymous", "--for-qvis", "--store", url]) == 2
    with stores.open(url) as store:
        rows_alone = next(trace for trace, kind in traces(store) if kind == "line_v1")
    assert main(["export", rows_alone[0], "-o", "x.sqlog", "--anonymous", "--store", url]) == 3
    assert "line v1" in capsys.readouterr().err and not Path("x.sqlog").exists()


def test_the_word_list_has_nothing_that_could_be_somebodys() -> None:
    kept = words()
    for word in kept.keys | kept.values:
        assert len(word) <= 45 and not re.fullmatch(r"[0-9a-fA-F]{6,}|.*\d+\.\d+\.\d+.*", word), word
    assert not kept.secret & kept.numbers


def test_no_record_keeps_a_clock_of_its_own(tmp_path: Path) -> None:
    try:
        collector.find()
    except CannotRun as missing:
        pytest.skip(missing.message)
    with stores.open(f"chdb:{tmp_path / 'store'}") as store:
        load_into(store, sorted(VECTORS.glob("time_formats_*/input*")), [])
        for trace, _ in traces(store):
            file = tmp_path / "x.sqlog"
            wanted = ExportRequest(trace[0], "sqlog", "as-is", file, trace[1], trace[2], is_anonymous=True)
            found = chosen(store, wanted)
            assert found is not None
            export(store, wanted, found, sys.stdout.buffer)
            records = [json.loads(record) for record in file.read_text().split("\x1e")[2:]]
            times = [record["time"] for record in records]
            assert times == sorted(times) and times[-1] - times[0] == found["duration_us"] / 1000
            assert not any({"time_format", "reference_time"} & set(record) for record in records)


def test_why_data_waits_is_kept_and_no_other_reason() -> None:
    def said(name: str, reason: str) -> str:
        return str(Anonymiser().record({"time": 1, "name": name, "data": {"reason": reason}})["data"]["reason"])

    assert said("quic:stream_data_blocked_updated", "stream_flow_control") == "stream_flow_control"
    assert said("quic:connection_closed", "goodbye Jane") != "goodbye Jane"
