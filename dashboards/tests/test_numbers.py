"""The numbers of panels are those that our own pages and reports give."""

import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest
from demo_store import Demo
from expanding import Window, expand
from quiclens_schema.catalogue import CAUSES
from reading import queries

Row = dict[str, Any]


def rows(demo: Demo, page: str, title: str, kind: str = "table", **chosen: str | list[str]) -> list[Row]:
    (asked,) = [each for each in queries() if (each.page, each.title, each.kind) == (page, title, kind)]
    return demo.store.query(expand(asked.sql, {**asked.variables, **chosen}, demo.window_of(page))).dicts()


def report(demo: Demo, *words: str, of: Window | None = None) -> Row:
    stretch = of or demo.window
    window = ["--since", stretch.since.isoformat(), "--until", stretch.until.isoformat()]
    command = [sys.executable, "-m", "quiclens_command_line", "report", *words, *window]
    done = subprocess.run([*command, "--store", f"chdb:{demo.folder}", "--json"], check=True, capture_output=True)
    document: Row = json.loads(done.stdout)
    return document


def every_row(document: Row) -> list[Row]:
    names = [column["name"] for column in document["columns"]]
    return [dict(zip(names, cells, strict=True)) for cells in document["rows"]]


def only_row(document: Row) -> Row:
    (row,) = every_row(document)
    return row


def by_words(columns: Sequence[str]) -> list[str]:
    return [word for column in columns for word in ("--by", column)]


def test_quantiles_and_coverage_are_those_of_the_report(demo: Demo) -> None:
    tail = only_row(report(demo, "tail"))
    (shown,) = rows(demo, "tail_latency", "Durations", "stat")
    assert shown["measured"] == tail["samples"] < tail["weight"]
    assert all(shown[name] == tail[name] is not None for name in ("p50", "p95", "p99"))
    (coverage,) = rows(demo, "tail_latency", "Coverage", "stat")
    assert (coverage["requests"], coverage["traced"]) == (tail["requests"], tail["traced"])
    assert coverage["traced_share"] == tail["traced"] / tail["requests"]


def test_slow_cells_are_the_groups_of_the_report(demo: Demo) -> None:
    by = ("carrier", "region", "city")
    told = {tuple(row[name] for name in by): row for row in every_row(report(demo, "tail", *by_words(by)))}
    shown = rows(demo, "tail_latency", "Worst cells")
    assert len(shown) > 2
    for row in shown:
        same = told[tuple(row[name] for name in by)]
        assert (row["measured"], row["p50"], row["p95"], row["p99"]) == (
            same["samples"],
            same["p50"],
            same["p95"],
            same["p99"],
        )


def test_shares_of_loss_are_those_of_the_report(demo: Demo) -> None:
    told = {row["figure"]: row for row in every_row(report(demo, "loss"))}
    (shown,) = rows(demo, "transport_health", "Connections", "stat")
    assert shown["connections"] == told["connections_with_loss"]["samples"]
    assert shown["with_loss_share"] == pytest.approx(told["connections_with_loss"]["value"], rel=1e-3)
    assert shown["with_pto_share"] == pytest.approx(told["connections_with_pto"]["value"], rel=1e-3)


def test_rates_are_those_of_the_report(demo: Demo) -> None:
    told = every_row(report(demo, "load"))
    (shown,) = rows(demo, "load", "Rates", "stat")
    for name, figure in (("requests_per_second", "requests"), ("connections_per_second", "new connections")):
        rate = sum(row["per_second"] for row in told if row["figure"] == figure)
        assert shown[name] == pytest.approx(rate, rel=1e-3, abs=1e-3)
    bits = sum(row["bits_per_second"] or 0 for row in told)
    assert shown["response_bits_per_second"] == pytest.approx(bits, rel=1e-3)


def test_the_use_of_quic_is_that_of_the_report(demo: Demo) -> None:
    told = {row["carrier"]: row for row in every_row(report(demo, "use-rate", "--by", "carrier"))}
    (asked,) = [each for each in queries() if each.title == "Requests by QUIC and ${by}"]
    shown = demo.store.query(expand(asked.sql, {**asked.variables, "by": "carrier"}, demo.window)).dicts()
    assert {row["by_value"] for row in shown} == set(told)
    for row in shown:
        same = told[row["by_value"]]
        assert (row["measured"], row["quic"]) == (same["samples"], same["over_quic"])
        assert row["quic_share"] is None or row["quic_share"] == pytest.approx(same["share"], rel=1e-3)


@pytest.mark.parametrize("cause", ["pto", "stream_flow_control", "server_think"])
def test_p99_without_a_cause_is_that_of_the_report(demo: Demo, cause: str) -> None:
    tail = only_row(report(demo, "tail", "--without", cause))
    (shown,) = [row for row in rows(demo, "why_slow", "p99 without a cause") if row["without"] == cause]
    assert shown["measured"] == tail["samples"]
    assert (shown["p99"], shown["without_p99"], shown["saved_p99"]) == (
        tail["p99"],
        tail["without_p99"],
        tail["saved_p99"],
    )


def test_the_causes_of_slow_requests_add_up(demo: Demo) -> None:
    for title, kind in (("Causes", "timeseries"), ("Causes by ${by}", "barchart")):
        for row in rows(demo, "why_slow", title, kind):
            assert sum(row[cause] for cause in CAUSES) == pytest.approx(1)


def test_a_choice_leaves_the_others_out_and_a_strange_one_harms_nothing(demo: Demo) -> None:
    chosen = ["Vale DSL", "Savanna Cell"]
    assert {row["carrier"] for row in rows(demo, "why_slow", "Slowest requests", carrier=chosen)} == set(chosen)
    assert rows(demo, "why_slow", "Slowest requests", carrier=["it's') OR (1=1"]) == []
    (stacks,) = rows(demo, "transport_health", "Connections by ${by}", carrier=["Vale DSL"])
    assert stacks["by_value"] == "Vale DSL"


def test_round_trips_by_protocol_are_those_of_the_report_and_none_over_tcp_is_traced(demo: Demo) -> None:
    reported = report(demo, "rtt", "--of", "requests", "--by", "protocol")
    told = {row["protocol"]: row for row in every_row(reported)}
    shown = {row["by_protocol"]: row for row in rows(demo, "tail_latency", "Round trips by protocol")}
    assert set(shown) == set(told) == {"h2", "h3"}
    for protocol, row in shown.items():
        assert (row["measured"], row["rtt_p50"]) == (told[protocol]["samples"], told[protocol]["p50"])
        assert row["rtt_p95"] == told[protocol]["p95"]
    assert shown["h2"]["traced"] == 0 < shown["h3"]["traced"]
    assert shown["h2"]["requests"] == shown["h2"]["measured"] > 20
    assert 10 <= shown["h2"]["tcp_congestion_window_packets_p50"] <= 60
    assert shown["h3"]["tcp_congestion_window_packets_p50"] is shown["h3"]["tcp_loss_outstanding_share"] is None


@pytest.mark.parametrize("by", ["region", "city", "pop", "network_type", "app_version"])
def test_panels_are_split_by_whatever_can_be_chosen(demo: Demo, by: str) -> None:
    for page, title, kind in (
        ("tail_latency", "${quantile:text} by ${by}", "timeseries"),
        ("tail_latency", "QUIC and TCP by ${by}", "table"),
        ("why_slow", "Slow requests by ${by}", "table"),
        ("transport_health", "Connections by ${by}", "table"),
    ):
        values = {row["by_value"] for row in rows(demo, page, title, kind, by=by)}
        assert values and "unknown" not in values
