"""Lines of HTTP/1.1 and HTTP/2: whatever they name, and whoever sent them, a QUIC trace does not speak for them."""

from functools import partial
from typing import Any

import pytest
from quiclens_ingest.link import link, link_since
from quiclens_ingest.mark import mark
from quiclens_schema.catalogue import CAUSES
from quiclens_schema.store import Store
from test_link import ID, Row, alias, line, put, requests
from test_link_by_tuple import KEY, bare, put_trace

FIGURES: Row = {
    "rtt_us": 62_000,
    "rtt_variance_us": 15_500,
    "tcp_congestion_window_packets": 10,
    "tcp_packets_lost_outstanding": 2,
    "tcp_packets_retransmitted_outstanding": 1,
}
NAMING: dict[str, Row] = {
    "by tuple": {},
    "by id": {"connection_id": ID, "stream_id": 0},
    "by alias": {"connection_id": "aabbccdd", "stream_id": 0},
    "a stream that is not there": {"connection_id": ID, "stream_id": 4},
    "an unknown connection": {"connection_id": "c0ffee00c0ffee00", "stream_id": 0},
}


def traced(store: Store) -> None:
    trace = put_trace(store, {"rtt_us": 40_000}, carrier="trace's", server="edge1")
    put(store, connection_aliases=[alias(trace, "aabbccdd")])


def by_protocol(store: Store) -> dict[Any, Row]:
    rows = requests(store)
    found = {row["protocol"]: row for row in rows}
    assert len(found) == len(rows)
    return found


@pytest.mark.parametrize("protocol", ["h1", "h2"])
@pytest.mark.parametrize("naming", NAMING.values(), ids=NAMING)
def test_a_request_over_tcp_has_no_trace_though_its_line_would_fit_one(
    store: Store, protocol: str, naming: Row
) -> None:
    traced(store)
    put(store, request_lines=[bare(7, server="edge1", protocol=protocol, **naming, **FIGURES)])
    link(store)
    rows = by_protocol(store)
    row = rows[protocol]
    assert (row["request_id"], row["source"], row["link"], row["coverage"]) == ("log:log1/7", "log", "none", "none")
    place = ("connection_id", "stream_id", "trace_id", "vantage", "stack", "top_cause", "top_cause_us", "min_rtt_us")
    assert {row[name] for name in place} == {None}
    assert (row["carrier"], row["packets_lost"], row["saves"], row["cannot_show"]) == (None, None, {}, [])
    assert sum(row[f"{cause}_us"] for cause in CAUSES) == 0
    assert row["duration_us"] == row["logged_duration_us"] == 1_000
    assert {name: row[name] for name in FIGURES} == FIGURES
    assert (rows["h3"]["request_id"], rows["h3"]["link"], rows["h3"]["log_id"]) == (f"{ID}/0", "none", None)
    assert (rows["h3"]["rtt_us"], rows["h3"]["rtt_variance_us"]) == (40_000, None)


@pytest.mark.parametrize("protocol", ["h3", None, "hq-interop"])
def test_any_other_line_is_linked_as_ever(store: Store, protocol: str | None) -> None:
    traced(store)
    put(store, request_lines=[bare(7, protocol=protocol, rtt_us=41_000, rtt_variance_us=9_000)])
    link(store)
    (row,) = requests(store)
    assert (row["link"], row["coverage"]) == ("tuple", "full")
    assert (row["rtt_us"], row["rtt_variance_us"]) == (40_000, 9_000)
    assert row["tcp_congestion_window_packets"] is None


def test_a_line_over_tcp_takes_no_stream_from_the_line_over_quic(store: Store) -> None:
    """A client that raced both has two lines of one path at one moment; only one of them can mean the stream."""
    traced(store)
    put(store, request_lines=[bare(5, protocol="h2"), bare(6, ms=20, protocol="h3")])
    link(store)
    rows = by_protocol(store)
    assert (rows["h3"]["link"], rows["h3"]["offset"], rows["h2"]["link"]) == ("tuple", 6, "none")


def test_no_request_over_tcp_is_counted_as_traced(store: Store) -> None:
    traced(store)
    put(store, request_lines=[bare(7, protocol="h2"), line(8, protocol="h1"), bare(9, ms=20, protocol="h3")])
    link(store)
    for table in ("requests", "request_rollups"):
        counted = {
            "requests": "count() AS requests, countIf(coverage != 'none') AS traced",
            "request_rollups": "sum(requests) AS requests, sum(traced) AS traced",
        }[table]
        found = store.query(f"SELECT protocol, {counted} FROM {table} GROUP BY protocol ORDER BY protocol LIMIT 9")
        assert found.rows == [("h1", 1, 0), ("h2", 1, 0), ("h3", 1, 1)]


@pytest.mark.parametrize("is_line_first", [False, True])
def test_the_order_of_arrival_does_not_matter(store: Store, is_line_first: bool) -> None:
    h2 = bare(7, protocol="h2", client_key=KEY)
    parts = [partial(traced, store), partial(put, store, request_lines=[h2])]
    for part in reversed(parts) if is_line_first else parts:
        since = mark(store)
        part()
        link_since(store, since)
    assert {name: row["link"] for name, row in by_protocol(store).items()} == {"h2": "none", "h3": "none"}
