"""What a fleet needs, by what was measured."""

from dataclasses import replace

import pytest

from quiclens_lab.errors import CannotTryError
from quiclens_lab.machine import LAB
from quiclens_lab.sizing import BEGIN, END, Fleet, fleets, kept_costs, measured, needs, written

DOCUMENT = LAB.parent / "deploy" / "docs" / "sizing.md"
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


def test_only_the_tables_of_a_document_are_written() -> None:
    costs = measured(FRESHNESS, LINKS)
    once = written(f"before\n{BEGIN}\nold\n{END}\nafter\n", costs)
    assert once.startswith("before\n") and once.endswith(f"{END}\nafter\n") and "old" not in once
    assert written(once, costs) == once
    assert written(once, replace(costs, event_kept=9)) != once


def test_the_document_has_the_tables_of_the_newest_figures() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    assert written(text, kept_costs()) == text, "quiclens-lab sizing --out deploy/docs/sizing.md"
