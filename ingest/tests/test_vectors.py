"""The case folders of schema/vectors, through the real collector into the real engine: a quarter of them, the same ones
each time. `make test-all` takes all; `cargo test` takes all through the collector alone."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from long import one_of_so_many, some
from quiclens_ingest.load import load
from quiclens_schema import catalogue
from quiclens_schema.store import Store

ROOT = Path(__file__).resolve().parents[2]
VECTORS = ROOT / "schema" / "vectors"
CASES = sorted(path.name for path in VECTORS.iterdir() if (path / "expect.json").exists())
COLLECTOR = Path(os.environ.get("QUICLENS_COLLECTOR", ROOT / "target" / "release" / "quiclens-collector"))

TABLES = {
    **{table: f"{table}_now" for table in ("connections", "streams", "episodes")},
    "connection_aliases": "connection_aliases",
    "request_lines": "request_lines FINAL",
    "requests": "requests",
    "event_rows": "events_now",
}

needs_collector = pytest.mark.skipif(not COLLECTOR.exists(), reason="no quiclens-collector: cargo build --release")


def as_expected(value: Any) -> Any:
    """A stored value as the case folders write it: instants are microseconds since 1970."""
    return round(value.timestamp() * 1e6) if hasattr(value, "timestamp") else value


@needs_collector
@pytest.mark.parametrize("name", some(CASES, *one_of_so_many(CASES, 4)))
def test_every_case_folder_is_in_the_store_as_it_says(store: Store, name: str) -> None:
    case = VECTORS / name
    expected = json.loads((case / "expect.json").read_text())
    (given,) = case.glob("input.*")
    logs = list(case.glob("access.log"))
    form = case / "format.toml" if logs else None
    summary = load(store, [given], logs, collector=COLLECTOR, requests_format=form).document()
    assert summary["events"] == expected["events"]
    assert summary["rejected"] == expected["rejected"]
    for table, rows in TABLES.items():
        found = store.query(f"SELECT * FROM {rows} LIMIT 10000").dicts()
        for row in expected.get(table, []):
            agreeing = [each for each in found if all(as_expected(each[key]) == value for key, value in row.items())]
            assert agreeing, f"no row of {table} agrees with {row}"
    for row in store.query("SELECT * FROM streams_now LIMIT 10000").dicts():
        assert sum(row[f"{cause}_us"] for cause in catalogue.CAUSES) == row["duration_us"]


@needs_collector
@pytest.mark.parametrize("order", [("whole", "cut"), ("cut", "whole")], ids=" then ".join)
def test_a_log_counts_before_a_copy_of_it_that_ends_in_half_a_record(
    store: Store, tmp_path: Path, order: tuple[str, str]
) -> None:
    log = (VECTORS / "quiche_0_30_server" / "input.sqlog").read_bytes()
    half = log.rstrip(b"\n").rpartition(b"\n")[2][:40]
    for name in order:
        copy = tmp_path / f"{name}.sqlog"
        copy.write_bytes(log if name == "whole" else log + half)
        rejected = load(store, [copy], [], collector=COLLECTOR).document()["rejected"]
        assert bool(rejected) == (name == "cut")
    assert store.query("SELECT complete FROM connections_now").rows == [(True,)]
