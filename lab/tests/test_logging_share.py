"""What a share of logged connections still answers: the claims of deploy/docs/logging-cost.md, on the lab's population.

One store has every connection's trace; the other those that a hash chose, of a collector that was told their chance.
The access log is whole in both.
"""

import json
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from quiclens_command_line.main import main
from quiclens_ingest.load import load
from quiclens_schema import store as stores
from quiclens_schema.migrate import migrate

from quiclens_lab.aioquic_server import is_logged
from quiclens_lab.demo import make_folder
from quiclens_lab.machine import LAB, collector_binary
from quiclens_lab.population import population

CONNECTIONS, SHARE, PATIENCE_S = 100, 0.25, 300
CLOCK_US = 2  # a line's time is rounded
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not collector_binary().is_file(), reason="the collector is not built"),
]

Row = dict[str, Any]


@dataclass(frozen=True)
class Both:
    """Two stores of the same traffic, and the connections that have a trace in the second."""

    every: str
    share: str
    chosen: frozenset[str]

    def ask(self, *words: str) -> tuple[Row, Row]:
        """The answer of each store."""
        return _asked(self.every, *words), _asked(self.share, *words)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Both:
    folder = tmp_path_factory.mktemp("share")
    make_folder(population(CONNECTIONS, seed=4), folder, with_client_traces=False, jobs=2, with_h2_lines=True)
    logs = sorted((folder / "server").iterdir())
    chosen = frozenset(log.stem for log in logs if is_logged(bytes.fromhex(log.stem), SHARE))
    assert 0.15 * CONNECTIONS < len(chosen) < 0.35 * CONNECTIONS
    (folder / "chosen").mkdir()
    for log in logs:
        if log.stem in chosen:
            shutil.copy(log, folder / "chosen")
    with stores.open(f"chdb:{folder / 'every'}") as store:
        migrate(store)
        load(store, [folder / "server"], [folder / "access.jsonl"], collector=collector_binary())
    _follow(folder, len(chosen))
    with stores.open(f"chdb:{folder / 'share'}") as store:
        migrate(store)
        for file in sorted((folder / "out").glob("*/*.arrow")):
            stream = file.read_bytes()
            store.insert_arrow(file.parent.name, stream, pa.ipc.open_stream(stream).read_all().num_rows)
    _asked(f"chdb:{folder / 'share'}", "link")
    return Both(f"chdb:{folder / 'every'}", f"chdb:{folder / 'share'}", chosen)


def _follow(folder: Path, connections: int) -> None:
    """Let a collector read the chosen ones and the access log, as it does beside a server that logs a share."""
    config = folder / "run.toml"
    config.write_text(
        f'state_dir = "{folder / "state"}"\ntraces = ["{folder / "chosen"}"]\ncpu_cap = 0\n'
        f'[[access_log]]\npath = "{folder / "access.jsonl"}"\n[retention]\ntrace_probability = {SHARE}\n'
        f'[sink]\nkind = "files"\nfolder = "{folder / "out"}"\n'
    )
    lines = (folder / "access.jsonl").read_bytes().count(b"\n")
    with (folder / "collector.log").open("wb") as log:
        process = subprocess.Popen([collector_binary(), "run", config], stderr=log)
    began = time.monotonic()
    while (
        _rows(folder / "out" / "connections", lambda row: row["complete"]) < connections
        or _rows(folder / "out" / "request_lines") < lines
    ):
        assert process.poll() is None and time.monotonic() - began < PATIENCE_S, (folder / "collector.log").read_text()
        time.sleep(0.2)
    process.terminate()
    assert process.wait() == 0


def _rows(folder: Path, are: Callable[[Row], bool] = lambda row: True) -> int:
    tables = [pa.ipc.open_stream(file).read_all() for file in folder.glob("*.arrow")]
    return sum(are(row) for table in tables for row in table.to_pylist())


@cache
def _asked(store: str, *words: str) -> Row:
    printed = StringIO()
    with redirect_stdout(printed):
        code = main([*words, "--store", store, "--json"])
    assert code in (0, 1), (words, printed.getvalue())
    found: Row = json.loads(printed.getvalue())
    assert "error" not in found
    return found


def figures(document: Row) -> list[Row]:
    names = [column["name"] for column in document["columns"]]
    return [dict(zip(names, row, strict=True)) for row in document["rows"]]


def test_every_request_is_listed_and_those_of_the_share_have_causes(both: Both) -> None:
    every, share = both.ask("slow", "--limit", "1000")
    listed, of_share = ({each["external_id"]: each for each in found["requests"]} for found in (every, share))
    assert len(listed) == every["coverage"]["requests"] and listed.keys() == of_share.keys()
    assert every["coverage"]["weight"] == share["coverage"]["weight"] == every["coverage"]["requests"]
    assert 0 < share["coverage"]["traced"] < every["coverage"]["traced"]
    for name, whole in listed.items():
        assert of_share[name]["duration_us"] == pytest.approx(whole["duration_us"], abs=CLOCK_US)
        is_traced = whole["connection_id"] in both.chosen
        assert of_share[name]["top_cause"] == (whole["top_cause"] if is_traced else None)


def test_a_request_of_another_connection_is_told_without_causes(both: Both) -> None:
    _, share = both.ask("slow", "--limit", "1000")
    one = next(each for each in share["requests"] if each["top_cause"] is None and each["coverage"] == "none")
    explained = _asked(both.share, "explain", one["request_id"])
    assert explained["parts"] == [] and explained["duration_us"] == one["duration_us"]
    assert "no trace of its connection" in explained["sentence"] or "it came over h2" in explained["sentence"]


def test_tails_and_comparisons_of_durations_are_the_same(both: Both) -> None:
    every, share = (figures(each) for each in both.ask("report", "tail", "--by", "carrier"))
    for one, other in zip(every, share, strict=True):
        assert one["requests"] == other["requests"] > other["traced"] > 0
        for each in (one, other):
            assert each["samples"] == each["requests"] - round(each["failed"] * each["requests"])
        # That a request was given up is known to its trace alone.
        assert 0 <= other["samples"] - one["samples"] <= 1
        if one["samples"] == other["samples"]:
            assert (one["p50"], one["p75"]) == pytest.approx((other["p50"], other["p75"]), abs=CLOCK_US)
    rates = [each["rows"] for each in both.ask("report", "use-rate")]
    assert rates[0] == rates[1] != []
    every, share = (figures(each) for each in both.ask("report", "compare", "--between", "protocol"))
    lasting = [[row["value"] for row in each if row["figure"] in ("p75", "p90", "p99")] for each in (every, share)]
    assert lasting[0] == pytest.approx(lasting[1], abs=CLOCK_US) and len(lasting[0]) >= 3


def test_what_became_worse_is_the_same(both: Both) -> None:
    every, share = both.ask("triage", "--since", "2026-11-20T10:35:00Z", "--until", "2026-11-20T10:50:00Z")
    assert every["findings"] == share["findings"] and every["coverage"]["requests"] == share["coverage"]["requests"] > 0


def test_what_only_traces_know_has_fewer_samples_and_wider_intervals(both: Both) -> None:
    words = ("report", "tail", "--without", "loss_recovery")
    every, share = (figures(each)[0] for each in both.ask(*words))
    assert every["traced"] >= every["samples"] > share["traced"] >= share["samples"] > 0
    assert width(share, "p50_sampling") > width(every, "p50_sampling")
    every, share = (figures(each)[0] for each in both.ask("report", "rtt"))
    assert every["clusters"] > share["clusters"] and every["samples"] > share["samples"]
    every, share = (figures(each)[0] for each in both.ask("report", "loss"))
    assert every["samples"] == CONNECTIONS and share["samples"] == len(both.chosen)
    assert width(share, "") > width(every, "")


def test_sums_of_events_are_weighed_by_the_chance(both: Both) -> None:
    every, share = ({row["figure"]: row for row in figures(each)} for each in both.ask("report", "events"))
    for name in ("events", "bytes_sent", "packets_sent"):
        assert every[name]["low"] == every[name]["value"] == every[name]["high"]
        low, value, high = (share[name][end] for end in ("low", "value", "high"))
        # Two intervals wide: this is one draw, and one in twenty misses one.
        assert low < value < high and 2 * low - value < every[name]["value"] < 2 * high - value, name


def test_new_connections_a_second_are_those_of_the_share(both: Both) -> None:
    every, share = ({row["figure"]: row for row in figures(each)} for each in both.ask("report", "load"))
    counted, told = (each["new connections"] for each in (every, share))
    assert (counted["samples"], told["samples"]) == (CONNECTIONS, len(both.chosen))
    assert every["requests"]["samples"] == share["requests"]["samples"]


def test_connections_that_never_asked_have_no_line_and_are_seen_in_the_share_alone(both: Both) -> None:
    every, share = (sum(row["connections"] for row in figures(each)) for each in both.ask("failed"))
    assert share <= every and every > 0


def test_the_collector_takes_the_settings_of_the_page(tmp_path: Path) -> None:
    text = (LAB.parent / "deploy" / "docs" / "logging-cost.md").read_text()
    (block,) = re.findall(r"(?ms)^```toml\n(.*?)^```", text)
    config = tmp_path / "collector.toml"
    config.write_text(f'state_dir = "{tmp_path}"\n{block}[sink]\nkind = "files"\nfolder = "{tmp_path}/out"\n')
    done = subprocess.run([collector_binary(), "check", "--quiet", config], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def width(row: Row, of: str) -> float:
    low, high = (row[f"{of}_{end}" if of else end] for end in ("low", "high"))
    return float(high - low) if high is not None else float("inf")
