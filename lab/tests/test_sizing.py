"""What a fleet needs, by what was measured."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from quiclens_lab.errors import CannotTryError
from quiclens_lab.sizing import Fleet, fleets, kept_costs, measured, needs, tables

FRESHNESS = {
    "steady": {
        "cpu_s_per_million": {"collector": 4.0, "broker": 1.0, "ingest": 2.0, "serve": 12.0},
        "a_million_events": {
            "topics": {"quic.events.v1": 20_000_000, "quic.streams.v1": 5_000_000, "http.request-lines.v1": 2_000_000},
            "tables": {
                "events": {"rows": 1_000_000, "bytes": 8_000_000},
                "streams": {"rows": 20_000, "bytes": 3_000_000},
                "request_lines": {"rows": 20_000, "bytes": 1_000_000},
                "request_versions": {"rows": 20_000, "bytes": 2_000_000},
            },
        },
    }
}
LINKS = {"steady": {"cpu_s_per_million": 100.0}}


def test_what_an_event_and_a_line_cost() -> None:
    costs = measured(FRESHNESS, LINKS)
    assert costs.events_per_request == 50
    assert costs.line_cpu_s == pytest.approx(100e-6)
    assert costs.store_cpu_s == pytest.approx(10e-6), "without what its 20,000 lines take"
    assert (costs.event_topics, costs.line_topics) == (25, 100)
    assert (costs.event_kept, costs.event_summaries, costs.line_kept) == (8, 3, 150)


def test_needs_are_products() -> None:
    costs = measured(FRESHNESS, LINKS)
    found = needs(Fleet("a fleet", servers=10, requests=100, traced=0.1), costs)
    assert (found.events_per_s, found.lines_per_s) == (5_000, 1_000)
    # Twice the mean at the peak, and half of a core in use.
    assert found.collector_core_share == pytest.approx(2 * 500 * 4e-6)
    assert found.server_kb_per_s == pytest.approx(2 * (500 * 25 + 100 * 100) / 1e3)
    assert found.kafka_mb_per_s == pytest.approx(2 * 3 * (5_000 * 25 + 1_000 * 100) / 1e6)
    assert found.kafka_gb == pytest.approx(3 * 3600 * (5_000 * 25 * 72 + 1_000 * 100 * 168) / 1e9)
    assert found.link_cores == pytest.approx(2 * 2 * 1_000 * 100e-6)
    assert found.store_cores == pytest.approx(2 * 2 * 5_000 * 10e-6 + found.link_cores)
    assert found.store_gb == pytest.approx(86_400 * (5_000 * (8 * 7 + 3 * 90) + 1_000 * 150 * 90) / 1e9)
    assert found.partitions == 6
    more = needs(Fleet("a fleet", servers=100_000, requests=100, traced=0.1), costs)
    assert more.partitions == 400 and more.ingest_cores == pytest.approx(400)


def test_the_last_fleet_logs_thirty_billion_events_a_day() -> None:
    costs = measured(FRESHNESS, LINKS)
    last = needs(fleets(costs)[-1], costs)
    assert last.events_per_s * 86_400 == pytest.approx(30e9, rel=1e-3)


def test_documents_of_before_say_what_they_lack() -> None:
    with pytest.raises(CannotTryError, match="a_million_events"):
        measured({"steady": {"cpu_s_per_million": {}}}, LINKS)


def test_the_tables_show_each_fleet() -> None:
    costs = measured(FRESHNESS, LINKS)
    shown = tables(costs)
    assert all(fleet.name in shown for fleet in fleets(costs))
    assert "| events of traces (50 a request) | 4.0 CPU s | 1.0 CPU s | 2.0 CPU s | 10.0 CPU s | 25.0 MB |" in shown
    assert tables(replace(costs, event_kept=9)) != shown


def test_the_newest_documents_that_were_kept_are_taken(tmp_path: Path) -> None:
    with pytest.raises(CannotTryError, match="freshness"):
        kept_costs(tmp_path)
    for day, document in (("2026-11-01", {}), ("2026-11-02", FRESHNESS)):
        (tmp_path / day).mkdir()
        (tmp_path / day / "freshness.json").write_text(json.dumps(document))
    (tmp_path / "2026-11-01" / "link_bench.json").write_text(json.dumps(LINKS))
    assert kept_costs(tmp_path) == measured(FRESHNESS, LINKS)
