"""Real traces of many stacks, where somebody has put them beside the project (`../shared/traces`, with a SOURCES.md).

They are not part of the project: without them these tests are skipped.
"""

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from quiclens_schema import store as stores
from quiclens_schema.migrate import migrate

from quiclens_questions.export import ExportRequest, export

ROOT = Path(__file__).resolve().parents[2]
TRACES = ROOT.parent / "shared" / "traces"
COLLECTOR = Path(os.environ.get("QUICLENS_COLLECTOR", ROOT / "target" / "release" / "quiclens-collector"))

pytestmark = [
    pytest.mark.skipif(not (TRACES / "SOURCES.md").exists(), reason="no extra traces beside the project"),
    pytest.mark.skipif(not COLLECTOR.exists(), reason="no quiclens-collector: cargo build --release"),
]

# One record of this file is no JSON. One file's last record is [].
INVALID = "picoquic/2020-02_sim_client_invalidjson.qlog"
EMPTY_LAST = "quic-trace/2018_gquic_bbr_draft00.qlog.gz"


def stated() -> dict[str, int]:
    """Events of each file by SOURCES.md."""
    rows = re.findall(r"^\| `([^`]+)` \|(.*)\|$", (TRACES / "SOURCES.md").read_text(), re.MULTILINE)
    return {name: int(cells.split("|")[5].replace(",", "")) for name, cells in rows}


def quiclens(*arguments: str, store: Path) -> tuple[int, bytes]:
    """Stores of one deployment have one secret, so that their clients' keys are the same."""
    command = [sys.executable, "-m", "quiclens_command_line", *arguments, "--store", f"chdb:{store}", "--json"]
    secret = {"QUICLENS_CLIENT_SECRET": "the secret of one deployment"}
    done = subprocess.run(command, env={**os.environ, **secret}, capture_output=True, check=False)
    assert done.returncode in (0, 1), done.stderr.decode()
    return done.returncode, done.stdout


def written_events(text: str) -> list[list[Any]]:
    """Events of each trace of a file that is whole."""
    if "\x1e" in text or text.splitlines()[0].rstrip().endswith("}"):
        records = [record for record in re.split("[\x1e\n]", text) if record.strip()]
        if len(records) > 1:
            return [[json.loads(record) for record in records[1:]]]
    document = json.loads(text)
    traces = document.get("traces") or document.get("connections") or [document.get("trace", document)]
    return [[event for event in trace["events"] if event] for trace in traces]


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = tmp_path_factory.mktemp("extra") / "store"
    code, answer = quiclens("load", str(TRACES), store=store)
    document = json.loads(answer)
    wanted = stated()
    assert code == 1  # some are cut, and SOURCES.md is no log
    assert document["events"] == sum(wanted.values()) - 1
    assert document["rejected"] == {"not_a_log": 1, "truncated": 2, "not_json": 1, "empty_record": 1}
    return store


def test_every_event_of_every_file_is_there_and_exports_equal(loaded: Path, tmp_path: Path) -> None:
    seen = dict.fromkeys(stated(), 0)
    exported: dict[str, list[Any]] = {name: [] for name in seen}
    with stores.open(f"chdb:{loaded}") as store:
        migrate(store)
        traces = store.query("SELECT * FROM connections_now ORDER BY source_file, time_base_ns, trace_id").dicts()
        for trace in traces:
            name = str(Path(trace["source_file"]).relative_to(TRACES))
            seen[name] += trace["events_seen"]
            file = tmp_path / "one.qlog"
            wanted = ExportRequest(trace["connection_id"], "qlog", "as-is", file)
            export(store, wanted, trace, sys.stdout.buffer)
            exported[name].append(written_events(file.read_text())[0])
            qvis = ExportRequest(trace["connection_id"], "sqlog", "for-qvis", tmp_path / "qvis.sqlog")
            export(store, qvis, trace, sys.stdout.buffer)
            records = [json.loads(record) for record in (tmp_path / "qvis.sqlog").read_text().split("\x1e")[1:]]
            assert len(records) == trace["events_seen"] + 1
            times = [record["time"] for record in records[1:]]
            assert times == sorted(times)
            assert all(record["data"].get("frames") != [] for record in records[1:])
    for name, count in stated().items():
        assert seen[name] == count - (name == EMPTY_LAST), name
        opener = gzip.open if name.endswith(".gz") else open
        with opener(TRACES / name, "rt") as opened:
            text = opened.read()
        try:
            wanted_events = written_events(text)
        except json.JSONDecodeError:
            continue  # cut or invalid: the counts above are what can be said
        if len(wanted_events) == 1 and len(exported[name]) > 1:  # connections told apart by their events' group_id
            (events,) = wanted_events
            together = [event for part in exported[name] for event in part]
            assert len(together) == len(events) and all(event in events for event in together), name
            continue
        assert sorted(map(len, wanted_events)) == sorted(map(len, exported[name])), name
        for events in wanted_events:
            assert events in exported[name], name


@pytest.mark.long
def test_no_order_name_or_form_of_the_files_changes_an_answer(loaded: Path, tmp_path: Path) -> None:
    copies = tmp_path / "copies"
    copies.mkdir()
    store = tmp_path / "store"
    for number, path in enumerate(sorted((path for path in TRACES.rglob("*log*") if path.is_file()), reverse=True)):
        if path.suffix == ".gz":
            (copies / f"{number:03}.bin").write_bytes(gzip.decompress(path.read_bytes()))
        elif number % 2:
            (copies / f"{number:03}.x").write_bytes(gzip.compress(path.read_bytes()))
        else:
            shutil.copy(path, copies / f"{number:03}.log")
    for _ in range(2):
        quiclens("load", str(copies), store=store)
    questions = [
        ["slow", "--limit", "1000"],
        ["slow", "--by", "stack"],
        ["report", "rtt"],
        ["report", "loss"],
        ["failed"],
    ]
    slow = json.loads(quiclens(*questions[0], store=loaded)[1])
    questions += [["explain", row["request_id"]] for row in slow["requests"][::40]]
    for question in questions:
        assert quiclens(*question, store=loaded)[1] == quiclens(*question, store=store)[1], question
