"""Lines without ids: their stream is found by client, time, method and path; where that may be several, not at all."""

from datetime import timedelta
from typing import Any

import pytest
from quiclens_ingest.link import link, link_since
from quiclens_ingest.mark import mark
from quiclens_schema.store import Store
from test_link import ID, NOON, Row, alias, connection, line, only, put, requests, stream

KEY = "0f" * 16
GET: Row = {"method": "GET", "path": "/feed"}


def key(of: Row, text: str = KEY) -> Row:
    return {**alias(of, text), "role": "client_key"}


def bare(offset: int = 0, ms: float = 0, **more: Any) -> Row:
    """A line without ids of a request that began so many ms after NOON."""
    told = {"connection_id": None, "stream_id": None, "client_key": KEY, **GET, **more}
    return line(offset, time=NOON + timedelta(milliseconds=ms), **told)


def put_trace(store: Store, *streams: Row, **facts: Any) -> Row:
    trace = connection(client_key=KEY, **facts)
    put(store, connections=[trace], connection_aliases=[key(trace)])
    put(store, streams=[stream(trace, number * 4, **GET, **more) for number, more in enumerate(streams)])
    return trace


def links(store: Store) -> dict[str, str]:
    link(store)
    return {row["request_id"]: row["link"] for row in requests(store)}


@pytest.mark.parametrize("ms", [-50, -1, 0, 49.999, 50])
def test_a_line_finds_its_stream_by_client_time_method_and_path(store: Store, ms: float) -> None:
    put_trace(store, {})
    put(store, request_lines=[bare(ms=ms, external_id="x1")])
    assert links(store) == {f"{ID}/0": "tuple"}
    assert (only(store)["source"], only(store)["external_id"], only(store)["duration_us"]) == ("log", "x1", 900)


@pytest.mark.parametrize(
    "other",
    [
        {"ms": 50.001},
        {"ms": -50.001},
        {"client_key": "11" * 16},
        {"client_key": None},
        {"method": "POST"},
        {"path": "/other"},
        {"path": None},
        {"server": "edge2"},
        {"stream_id": 4},
        {"connection_id": "c0ffee00c0ffee00"},
        {"time_is": "end", "duration_us": None},
        {"time_is": "end", "duration_us": 60_000},
    ],
)
def test_what_does_not_agree_is_another_request(store: Store, other: Row) -> None:
    put_trace(store, {}, server="edge1")
    put(store, request_lines=[bare(3, **other)])
    link(store)
    assert sorted((row["link"], row["source"]) for row in requests(store)) == [("none", "http"), ("none", "log")]


@pytest.mark.parametrize(
    "more",
    [
        {"stream_id": 0},
        {"connection_id": ID},
        {"connection_id": "aabbccdd"},
        {"server": "edge1"},
        {"ms": 60, "time_is": "end", "duration_us": 60_000},
    ],
)
def test_what_a_line_knows_besides_must_agree_and_does(store: Store, more: Row) -> None:
    trace = put_trace(store, {}, server="edge1")
    put(store, connection_aliases=[alias(trace, "aabbccdd")], request_lines=[bare(**more)])
    assert links(store) == {f"{ID}/0": "tuple"}


def test_a_line_that_may_mean_two_streams_is_counted_and_not_picked(store: Store) -> None:
    put_trace(store, {}, {"started_at": NOON + timedelta(milliseconds=30)})
    put(store, request_lines=[bare(5, ms=10)])
    assert links(store) == {f"{ID}/0": "none", f"{ID}/4": "none", "log:log1/5": "ambiguous"}


def test_a_stream_id_tells_two_streams_apart(store: Store) -> None:
    put_trace(store, {}, {"started_at": NOON + timedelta(milliseconds=30)})
    put(store, request_lines=[bare(5, ms=10, stream_id=4), bare(6, ms=10, stream_id=0)])
    assert links(store) == {f"{ID}/0": "tuple", f"{ID}/4": "tuple"}


def test_a_stream_that_two_lines_may_mean_is_nobodys(store: Store) -> None:
    put_trace(store, {})
    put(store, request_lines=[bare(5), bare(6, ms=20)])
    assert links(store) == {f"{ID}/0": "none", "log:log1/5": "ambiguous", "log:log1/6": "ambiguous"}


def test_ids_win_over_tuples(store: Store) -> None:
    trace = put_trace(store, {}, {"started_at": NOON + timedelta(seconds=2)})
    by_id = bare(1, ms=2_000, connection_id=ID, stream_id=0)  # at the other stream's time
    put(store, connection_aliases=[alias(trace, "aabbccdd")], request_lines=[by_id, bare(2)])
    link(store)
    found = {row["request_id"]: (row["link"], row["offset"]) for row in requests(store)}
    assert found == {f"{ID}/0": ("id", 1), f"{ID}/4": ("none", None)}


def test_a_client_that_moved_is_found_at_both_addresses(store: Store) -> None:
    trace = put_trace(store, {}, {"started_at": NOON + timedelta(seconds=1)})
    put(store, connection_aliases=[key(trace, "22" * 16)])
    put(store, request_lines=[bare(1), bare(2, ms=1_000, client_key="22" * 16)])
    assert links(store) == {f"{ID}/0": "tuple", f"{ID}/4": "tuple"}


@pytest.mark.parametrize("is_line_first", [False, True])
def test_over_the_border_of_an_hour_the_order_of_arrival_does_not_matter(store: Store, is_line_first: bool) -> None:
    trace = connection(client_key=KEY, started_at=NOON - timedelta(seconds=1))
    parts: list[dict[str, list[Row]]] = [
        {
            "connections": [trace],
            "connection_aliases": [key(trace)],
            "streams": [stream(trace, started_at=NOON + timedelta(milliseconds=10), **GET)],
        },
        {"request_lines": [bare(1, ms=-20)]},
    ]
    for part in reversed(parts) if is_line_first else parts:
        since = mark(store)
        put(store, **part)
        link_since(store, since)
    rows = requests(store)
    assert [(row["request_id"], row["link"], row["started_hour"]) for row in rows] == [(f"{ID}/0", "tuple", NOON)]
    link(store, [NOON.date()])
    assert requests(store) == rows
