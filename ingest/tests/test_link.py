from collections import Counter
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from arrow_batches import batch
from quiclens_ingest import hand
from quiclens_ingest.link import link, link_since
from quiclens_ingest.mark import NOTHING, mark
from quiclens_schema.catalogue import CAUSES
from quiclens_schema.store import Store

NOON = datetime(2026, 3, 4, 12, 0, 0, tzinfo=UTC)
ID = "83a2c1d4e5f60718"
Row = dict[str, Any]


def connection(connection_id: str = ID, trace_id: str = "s1", vantage: str = "server", **more: Any) -> Row:
    return {
        "connection_id": connection_id,
        "trace_id": trace_id,
        "vantage": vantage,
        "version": (1 << 40) + 10,
        "analysis_version": 1,
        "trace_day": NOON.date(),
        "started_at": NOON,
        "duration_us": 5_000_000,
        "complete": True,
        "events_seen": 10,
        "events_kept": "all",
        "event_probability": 1.0,
        "trace_probability": 1.0,
        **more,
    }


def stream(of: Row, stream_id: int = 0, **more: Any) -> Row:
    shared = ("connection_id", "trace_id", "vantage", "version", "analysis_version", "trace_day")
    return {
        **{name: of[name] for name in shared},
        "stream_id": stream_id,
        "started_at": of["started_at"],
        "complete": True,
        "duration_us": 900,
        "network_us": 600,
        "server_think_us": 300,
        **more,
    }


def alias(of: Row, text: str) -> Row:
    shared = ("connection_id", "trace_id", "vantage", "version", "trace_day")
    return {**{name: of[name] for name in shared}, "alias": text, "role": "issued"}


def line(offset: int = 0, **more: Any) -> Row:
    time = more.get("time", NOON + timedelta(seconds=1))
    return {
        "log_id": "log1",
        "offset": offset,
        "line_day": time.date(),
        "time": time,
        "time_is": "start",
        "duration_us": 1_000,
        "connection_id": ID,
        "stream_id": 0,
        **more,
    }


def put(store: Store, **tables: list[Row]) -> None:
    for table, rows in tables.items():
        store.insert_arrow(*batch(table, rows))


def requests(store: Store) -> list[Row]:
    return store.query("SELECT * FROM requests ORDER BY started_hour, request_id, log_id, offset").dicts()


def only(store: Store) -> Row:
    rows = requests(store)
    assert len(rows) == 1, [row["request_id"] for row in rows]
    return rows[0]


def test_a_line_and_its_stream_are_one_request(store: Store) -> None:
    trace = connection(server="edge1", carrier="trace's", stack="quic-go")
    put(
        store,
        connections=[trace],
        streams=[stream(trace, method="GET", path="/seen", status=200)],
        request_lines=[line(server="edge1", carrier="log's", path="/logged", external_id="x1")],
    )
    assert link(store).requests == 1
    row = only(store)
    assert row["request_id"] == f"{ID}/0"
    assert (row["source"], row["link"], row["coverage"]) == ("log", "id", "full")
    assert (row["duration_us"], row["logged_duration_us"]) == (900, 1_000)
    assert (row["top_cause"], row["top_cause_us"]) == ("network", 600)
    assert (row["carrier"], row["path"], row["method"], row["external_id"]) == ("log's", "/logged", "GET", "x1")
    assert (row["stack"], row["congestion_controller"], row["protocol"]) == ("quic-go", None, "h3")
    assert row["started_at"] == NOON
    assert sum(row[f"{cause}_us"] for cause in CAUSES) == row["duration_us"]


def test_a_line_without_a_trace_is_a_request_by_itself(store: Store) -> None:
    put(store, request_lines=[line(7, connection_id=None, stream_id=None), line(9, connection_id="c0ffee00c0ffee00")])
    link(store)
    first, second = requests(store)
    assert (first["request_id"], second["request_id"]) == ("c0ffee00c0ffee00/0", "log:log1/7")
    for row in (first, second):
        assert (row["source"], row["link"], row["coverage"], row["top_cause"]) == ("log", "none", "none", None)
        assert (row["duration_us"], row["weight"], row["trace_id"]) == (1_000, 1.0, None)


def test_an_empty_text_of_a_line_is_no_value(store: Store) -> None:
    """Plain JSON keeps it; as a value it would hide what the trace knows, and make all nameless users one."""
    empty = {name: "" for name in ("carrier", "region", "user_hash", "arm", "protocol", "external_id")}
    trace = connection(carrier="acme")
    lines = [line(0, **empty), line(1, **empty, connection_id=None, stream_id=None)]
    put(store, connections=[trace], streams=[stream(trace)], request_lines=lines)
    link(store)
    traced, untraced = sorted(requests(store), key=lambda row: row["offset"])
    assert (traced["carrier"], untraced["carrier"]) == ("acme", None)
    for name in ("region", "user_hash", "arm", "external_id"):
        assert traced[name] is None and untraced[name] is None, name
    assert untraced["protocol"] is None


@pytest.mark.parametrize(("method", "source"), [("GET", "http"), (None, "stream")])
def test_a_stream_without_a_line_is_a_request_by_itself(store: Store, method: str | None, source: str) -> None:
    trace = connection()
    put(store, connections=[trace], streams=[stream(trace, method=method)])
    link(store)
    row = only(store)
    assert (row["source"], row["link"], row["log_id"], row["logged_duration_us"]) == (source, "none", None, None)


def test_a_servers_and_a_clients_trace_are_one_request_and_the_server_speaks(store: Store) -> None:
    server, client = connection(), connection(trace_id="c1", vantage="client", events_seen=99, complete=True)
    put(store, connections=[client, server], streams=[stream(client, duration_us=1), stream(server)])
    link(store)
    assert (only(store)["vantage"], only(store)["duration_us"]) == ("server", 900)


def test_of_two_traces_of_one_vantage_the_complete_then_the_fuller_then_the_smaller_id_speaks(store: Store) -> None:
    cut = connection(trace_id="a", complete=False, events_seen=99)
    few = connection(trace_id="b", events_seen=5)
    full = connection(trace_id="d", events_seen=9)
    same = connection(trace_id="c", events_seen=9)
    put(store, connections=[cut, few, full, same], streams=[stream(each) for each in (cut, few, full, same)])
    link(store)
    assert only(store)["trace_id"] == "c"


def test_an_alias_of_four_bytes_links_and_a_shorter_one_does_not(store: Store) -> None:
    trace = connection()
    put(
        store,
        connections=[trace],
        streams=[stream(trace), stream(trace, 4)],
        connection_aliases=[alias(trace, "aabbccdd"), alias(trace, "aabbcc")],
        request_lines=[line(0, connection_id="aabbccdd"), line(1, connection_id="aabbcc", stream_id=4)],
    )
    link(store)
    found = {row["request_id"]: (row["link"], row["offset"]) for row in requests(store)}
    assert found == {f"{ID}/0": ("alias", 0), f"{ID}/4": ("none", None), "aabbcc/4": ("none", 1)}


def test_an_alias_of_two_connections_is_counted_and_not_picked(store: Store) -> None:
    one, two = connection(), connection("0102030405060708", "s2")
    put(
        store,
        connections=[one, two],
        streams=[stream(one), stream(two)],
        connection_aliases=[alias(one, "aabbccdd"), alias(two, "aabbccdd")],
        request_lines=[line(connection_id="aabbccdd")],
    )
    link(store)
    links = {row["request_id"]: row["link"] for row in requests(store)}
    assert links == {f"{ID}/0": "none", "0102030405060708/0": "none", "aabbccdd/0": "ambiguous"}


@pytest.mark.parametrize(("count", "expected"), [(100, "alias"), (101, "ambiguous")])
def test_an_alias_of_very_many_undated_connections_means_none_of_them(
    store: Store, caplog: pytest.LogCaptureFixture, count: int, expected: str
) -> None:
    """Also where the stream tells them apart: to look at each would take the product of lines and connections."""
    undated: Row = {"started_at": None, "trace_day": date(1970, 1, 1)}
    traces = [connection(f"{number:016x}", f"t{number}", **undated) for number in range(count)]
    put(
        store,
        connections=traces,
        streams=[stream(trace, 4 * number) for number, trace in enumerate(traces)],
        connection_aliases=[alias(trace, "aabbccdd") for trace in traces],
        request_lines=[line(number, connection_id="aabbccdd", stream_id=4 * number) for number in range(count)],
    )
    link(store)
    versions = store.query("SELECT count() FROM request_versions").one()
    link_since(store, NOTHING)
    found = [row["link"] for row in requests(store) if row["log_id"] is not None]
    assert found == [expected] * count
    assert store.query("SELECT count() FROM request_versions").one() == versions
    assert ("log lines by them are ambiguous" in caplog.text) == (expected == "ambiguous")


@pytest.mark.parametrize(
    "other", [{"server": "edge2"}, {"time": NOON + timedelta(minutes=30)}, {"time": NOON - timedelta(minutes=30)}]
)
def test_a_line_of_another_server_or_time_is_another_request(store: Store, other: Row) -> None:
    trace = connection(server="edge1")
    put(store, connections=[trace], streams=[stream(trace)], request_lines=[line(3, **other)])
    link(store)
    assert {row["request_id"] for row in requests(store)} == {f"{ID}/0", "log:log1/3"}


def test_an_undated_trace_takes_its_time_from_the_line_else_has_none(store: Store) -> None:
    trace = connection(started_at=None, trace_day=datetime(1970, 1, 1).date())
    put(store, connections=[trace], streams=[stream(trace), stream(trace, 4)])
    put(store, request_lines=[line(time=NOON + timedelta(seconds=1), time_is="end", duration_us=2_000_000)])
    link(store)
    undated, dated = requests(store)
    assert (undated["request_id"], undated["started_at"]) == (f"{ID}/4", None)
    assert undated["started_hour"] == datetime(1970, 1, 1, tzinfo=UTC)
    assert (dated["request_id"], dated["started_at"]) == (f"{ID}/0", NOON - timedelta(seconds=1))


@pytest.mark.parametrize(
    ("trace", "request_", "coverage"),
    [
        ({}, {}, "full"),
        ({"complete": False}, {}, "partial"),
        ({}, {"complete": False}, "partial"),
        ({"events_kept": "none"}, {}, "summary"),
        ({"events_kept": "dropped"}, {}, "summary"),
    ],
)
def test_coverage_says_how_much_of_a_request_is_known(store: Store, trace: Row, request_: Row, coverage: str) -> None:
    seen = connection(**trace)
    put(store, connections=[seen], streams=[stream(seen, **request_)])
    link(store)
    assert only(store)["coverage"] == coverage


@pytest.mark.parametrize("kept", ["all", "none"])
def test_weight_is_the_inverse_of_the_chance_to_be_here(store: Store, kept: str) -> None:
    """The server traced one connection in ten; whose events we kept says nothing of how many requests there were."""
    trace = connection(events_kept=kept, event_probability=0.5, trace_probability=0.1)
    streams = [stream(trace), stream(trace, 4)]
    put(store, connections=[trace], streams=streams, request_lines=[line(9, stream_id=4), line(99, stream_id=8)])
    link(store)
    found = {row["request_id"]: row["weight"] for row in requests(store)}
    assert found == {f"{ID}/0": pytest.approx(10), f"{ID}/4": 1, f"{ID}/8": 1}


def test_ties_of_causes_go_by_vocabulary_order(store: Store) -> None:
    trace = connection()
    put(store, connections=[trace], streams=[stream(trace, network_us=300, server_think_us=300, pto_us=300)])
    link(store)
    assert only(store)["top_cause"] == "server_think"


def test_what_a_cause_would_have_saved_comes_with_the_stream(store: Store) -> None:
    trace = connection()
    known: Row = {"saves": {"server_think": 300}, "cannot_show": ["scheduling"]}
    put(
        store,
        connections=[trace],
        streams=[stream(trace, **known), stream(trace, 4)],
        request_lines=[line(9, stream_id=8)],
    )
    link(store)
    found = {row["request_id"]: (row["saves"], row["cannot_show"]) for row in requests(store)}
    assert found == {f"{ID}/0": ({"server_think": 300}, ["scheduling"]), f"{ID}/4": ({}, []), f"{ID}/8": ({}, [])}


def test_several_lines_of_one_stream_are_one_request(store: Store) -> None:
    trace = connection()
    later = line(1, time=NOON + timedelta(seconds=2))
    put(store, connections=[trace], streams=[stream(trace)], request_lines=[later, line(5), line(6)])
    link(store)
    assert only(store)["offset"] == 5


def test_linking_twice_changes_nothing(store: Store) -> None:
    fill(store)
    link(store)
    before = requests(store)
    link(store)
    link(store, [NOON.date()])
    assert requests(store) == before


def test_linking_one_day_leaves_the_others(store: Store) -> None:
    put(store, request_lines=[line(1), line(2, time=NOON + timedelta(days=1))])
    assert link(store, [NOON.date()]).requests == 1
    assert [row["offset"] for row in requests(store)] == [1]


def test_a_request_that_moved_leaves_its_old_hour(store: Store) -> None:
    put(store, request_lines=[line(time=NOON - timedelta(seconds=1))])
    link(store)
    assert only(store)["started_hour"] == NOON - timedelta(hours=1)
    since = mark(store)
    trace = connection()
    put(store, connections=[trace], streams=[stream(trace)])
    link_since(store, since)
    row = only(store)
    assert (row["started_hour"], row["link"], row["request_id"]) == (NOON, "id", f"{ID}/0")


def test_a_trace_that_moved_to_another_connection_leaves_no_request_behind(store: Store) -> None:
    early = connection("t-s1")
    put(store, connections=[early], streams=[stream(early)])
    link(store)
    since = mark(store)
    longer = connection(version=early["version"] + 5)
    put(store, connections=[longer], streams=[stream(longer)])
    link_since(store, since)
    assert only(store)["request_id"] == f"{ID}/0"


@pytest.mark.parametrize("longer_first", [False, True])
def test_a_longer_trace_wins_in_any_order_of_arrival(store: Store, longer_first: bool) -> None:
    short = connection("t-s1", complete=False)
    longer = connection(version=short["version"] + 5)
    loads = [
        {"connections": [short], "streams": [stream(short, duration_us=1)]},
        {"connections": [longer], "streams": [stream(longer), stream(longer, 4)]},
    ]
    for tables in reversed(loads) if longer_first else loads:
        since = mark(store)
        put(store, **tables)
        link_since(store, since)
    assert [row["request_id"] for row in requests(store)] == [f"{ID}/0", f"{ID}/4"]
    assert store.query("SELECT connection_id FROM connections_now").rows == [(ID,)]
    assert store.query("SELECT connection_id, duration_us FROM streams_now ORDER BY stream_id").rows == [(ID, 900)] * 2
    for old_id, rows in (("t-s1", 0), (ID, 2)):
        found = store.query("SELECT count() FROM streams_of(connection_id = {id:String})", {"id": old_id})
        assert found.one() == (rows,)


def test_linking_what_changed_gives_what_linking_all_gives(store: Store) -> None:
    for step in fill_steps():
        since = mark(store)
        put(store, **step)
        link_since(store, since)
    before = requests(store)
    link(store)
    assert requests(store) == before
    assert len(before) == 6


@pytest.mark.long
def test_the_order_of_arrival_does_not_matter(store: Store) -> None:
    for step in reversed(fill_steps()):
        since = mark(store)
        put(store, **step)
        link_since(store, since)
    backwards = requests(store)
    for table in ("connections", "streams", "connection_aliases", "request_lines", "request_versions"):
        store.command(f"TRUNCATE TABLE {table}")
    fill(store)
    link(store)
    assert requests(store) == backwards


def test_an_empty_store_links_to_nothing(store: Store) -> None:
    assert (link(store).requests, requests(store)) == (0, [])


def test_no_scratch_table_is_left(store: Store) -> None:
    fill(store)
    link(store)
    assert store.query("SHOW TABLES LIKE 'link\\_%'").rows == [("link_leases",), ("link_marks",), ("link_pending",)]


def fill(store: Store) -> None:
    for step in fill_steps():
        put(store, **step)


def fill_steps() -> list[dict[str, list[Row]]]:
    """Three connections over three hours, on the hour's border, by two vantages, with lines by id and alias."""
    steps: list[dict[str, list[Row]]] = []
    for number in range(3):
        at = NOON + timedelta(minutes=60 * number, seconds=-1)
        name = f"{number:016x}"
        server = connection(name, f"s{number}", started_at=at)
        client = connection(name, f"c{number}", "client", started_at=at + timedelta(seconds=2))
        steps.append({"request_lines": [line(number, time=at + timedelta(seconds=3), connection_id=name)]})
        steps.append({"connections": [client], "streams": [stream(client), stream(client, 4)]})
        if number % 3:
            steps.append({"connections": [server], "streams": [stream(server)]})
        short = f"{number:08x}"
        steps.append({"connection_aliases": [alias(client, short)]})
        by_alias = line(number + 100, time=at + timedelta(seconds=1), connection_id=short, stream_id=4)
        steps.append({"request_lines": [by_alias]})
    return steps


MIDNIGHT = datetime(2026, 3, 5, tzinfo=UTC)


def by_tuple(at: datetime) -> Row:
    return line(1, time=at, connection_id=None, stream_id=None, client_key="key", method="GET", path="/")


@pytest.mark.parametrize("is_undated", [False, True])
def test_a_line_that_a_request_of_another_day_takes_is_seen_once(
    store: Store, is_undated: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each stood in its own day before: at no statement is the line missing, or there twice."""
    trace = connection(started_at=MIDNIGHT, trace_day=MIDNIGHT.date())
    later = {**trace, "version": trace["version"] + 1}
    if is_undated:
        trace = {**trace, "started_at": None, "trace_day": date(1970, 1, 1)}
        later = {**later, "trace_day": date(1970, 1, 1)}
    get: Row = {"method": "GET", "path": "/"}
    at = MIDNIGHT - timedelta(milliseconds=10)
    put(store, request_lines=[by_tuple(at)], connections=[trace], streams=[stream(trace, **get)])
    link(store)
    assert {row["request_id"] for row in requests(store)} == {f"{ID}/0", "log:log1/1"}
    since = mark(store)
    key = {**alias(later, "key"), "role": "client_key"}
    put(store, connection_aliases=[key], connections=[later], streams=[stream(later, **get)])
    seen: list[int] = []
    run = Store.command

    def command(self: Store, *arguments: Any, **named: Any) -> None:
        run(self, *arguments, **named)
        seen.extend(Store.query(self, "SELECT countIf(log_id IS NOT NULL) FROM requests").one())

    monkeypatch.setattr(Store, "command", command)
    link_since(store, since)
    assert set(seen) == {1}
    row = only(store)
    assert (row["request_id"], row["link"], row["offset"]) == (f"{ID}/0", "tuple", 1)
    assert store.query("SELECT count() FROM request_versions FINAL WHERE crosses").one() == (0,)


def test_a_request_that_gets_a_clock_is_found_at_its_time(store: Store) -> None:
    undated = connection(started_at=None, trace_day=date(1970, 1, 1))
    put(store, connections=[undated], streams=[stream(undated)])
    link(store)
    assert only(store)["started_at"] is None
    since = mark(store)
    put(store, request_lines=[line()])
    link_since(store, since)
    assert only(store)["started_hour"] == NOON
    link(store)
    assert only(store)["started_hour"] == NOON


FOR_EVER = [
    {"duration_us": 130 * 365 * 86_400 * 10**6},
    {"duration_us": 60 * 365 * 86_400 * 10**6, "time_is": "end"},
    {"duration_us": 2**63 - 1},
    {"duration_us": 2**63 - 1, "time_is": "end"},
    {"duration_us": 2**64 - 1},
]
TOO_EARLY = [
    {"time": datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)},
    {"time": datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC), "time_is": "end", "duration_us": 5_000_000},
    {"time": datetime(1999, 12, 31, tzinfo=UTC)},
]
TOO_LATE = [
    {"time": datetime(2160, 1, 1, tzinfo=UTC), "line_day": date(2149, 6, 6)},
    {"time": datetime(9999, 1, 1, tzinfo=UTC), "line_day": NOON.date()},
]


@pytest.mark.parametrize("absurd", [FOR_EVER, TOO_EARLY, TOO_LATE])
def test_a_line_of_an_absurd_time_is_undated_and_one_that_took_for_ever_has_no_duration(
    store: Store, absurd: list[Row]
) -> None:
    """And the other lines of its step find their streams."""
    trace = connection()
    put(store, connections=[trace], streams=[stream(trace)])
    link_since(store, NOTHING)
    since = mark(store)
    lines = [line(number, connection_id=f"deadbeef0{number}", **each) for number, each in enumerate(absurd, 1)]
    put(store, request_lines=[line(0), *lines])
    link_since(store, since)
    found = {row["request_id"]: row for row in requests(store)}
    whole = found.pop(f"{ID}/0")
    assert (whole["link"], whole["offset"], whole["started_at"]) == ("id", 0, NOON)
    assert set(found) == {f"{each['connection_id']}/0" for each in lines}
    for each in lines:
        row = found[f"{each['connection_id']}/0"]
        is_dated, has_duration = absurd is FOR_EVER, absurd is not FOR_EVER
        assert row["started_at"] == (each["time"] if is_dated else None)
        assert row["started_hour"] == (NOON if is_dated else datetime(1970, 1, 1, tzinfo=UTC))
        assert row["duration_us"] == row["logged_duration_us"] == (each["duration_us"] if has_duration else None)
    counted = store.query("SELECT sum(requests), sum(measured) FROM request_rollups").one()
    assert counted == (1 + len(lines), 1 + (0 if absurd is FOR_EVER else len(lines)))
    before = requests(store)
    link(store)
    assert requests(store) == before


LONG: list[Row] = [{"duration_us": 2**63 - 1}, {"duration_us": 125 * 365 * 86_400 * 10**6}]
FAR: list[Row] = [
    {"started_at": datetime(2160, 1, 1, tzinfo=UTC), "trace_day": date(2149, 6, 6)},
    {"started_at": datetime(1970, 1, 2, tzinfo=UTC), "trace_day": date(1970, 1, 2)},
    {"started_at": datetime(9999, 1, 1, tzinfo=UTC)},
]


@pytest.mark.parametrize("absurd", [LONG, FAR])
@pytest.mark.parametrize("lines_first", [False, True])
def test_a_trace_of_an_absurd_time_unlinks_nothing(store: Store, absurd: list[Row], lines_first: bool) -> None:
    names = [ID, *(f"deadbeef0{number}" for number in range(len(absurd)))]
    seen = [connection(name, name, **each) for name, each in zip(names, [{}, *absurd], strict=True)]
    traces: dict[str, list[Row]] = {"connections": seen, "streams": [stream(each) for each in seen]}
    lines = {"request_lines": [line(number, connection_id=name) for number, name in enumerate(names)]}
    for tables in (lines, traces) if lines_first else (traces, lines):
        since = mark(store)
        put(store, **tables)
        link_since(store, since)
    said = NOON + timedelta(seconds=1)
    columns = ("link", "offset", "started_at", "duration_us")
    assert {row["request_id"]: tuple(row[column] for column in columns) for row in requests(store)} == {
        f"{name}/0": ("id", number, said if number and absurd is FAR else NOON, 900)
        for number, name in enumerate(names)
    }


def test_instants_that_no_arithmetic_holds_stop_nothing(store: Store) -> None:
    """What no clock shows, and pyarrow lets through."""
    trace = connection()
    for at in (-(2**63), 2**63 - 1):
        for table, column, row in (
            ("request_lines", "time", line(1, connection_id="deadbeef00")),
            ("connections", "started_at", connection("deadbeef00", f"s{at}")),
            ("streams", "started_at", stream(connection("deadbeef00", f"s{at}"))),
        ):
            _, body, rows = batch(table, [row])
            held = pa.ipc.open_stream(body).read_all()
            place = held.schema.get_field_index(column)
            field = held.schema.field(place)
            sink = pa.BufferOutputStream()
            changed = held.set_column(place, field, pa.array([at], pa.int64()).cast(field.type))
            with pa.ipc.new_stream(sink, changed.schema) as writer:
                writer.write_table(changed)
            store.insert_arrow(table, sink.getvalue().to_pybytes(), rows)
        put(store, connections=[trace], streams=[stream(trace)], request_lines=[line(0)])
        link(store)
        found = {row["request_id"]: (row["link"], row["offset"], row["started_at"]) for row in requests(store)}
        assert found == {f"{ID}/0": ("id", 0, NOON), "deadbeef00/0": ("id", 1, None)}
    assert store.query("SELECT sum(requests) FROM request_rollups").one() == (2,)


@pytest.mark.parametrize("is_merged", [False, pytest.param(True, marks=pytest.mark.long)])
@pytest.mark.parametrize(
    "later",
    [
        timedelta(minutes=3),
        pytest.param(timedelta(hours=1), marks=pytest.mark.long),
        timedelta(hours=13),
        pytest.param(timedelta(days=-40), marks=pytest.mark.long),
    ],
)
def test_a_log_that_is_read_again_with_other_times_is_linked_once(
    store: Store, later: timedelta, is_merged: bool
) -> None:
    """Also where ClickHouse has merged both readings before, or never will, since they lie on two days."""
    bare: Row = {"connection_id": None, "stream_id": None}
    times = [NOON + timedelta(minutes=number) for number in range(5)]
    put(store, request_lines=[line(number, time=at, **bare) for number, at in enumerate(times)])
    link_since(store, NOTHING)
    for moved in (later, timedelta(0)):
        since = mark(store)
        put(store, request_lines=[line(number, time=at + moved, **bare) for number, at in enumerate(times)])
        if is_merged:
            store.command("OPTIMIZE TABLE request_lines FINAL")
        link_since(store, since)
        expected = [(f"log:log1/{number}", at + moved) for number, at in enumerate(times)]
        assert [(row["request_id"], row["started_at"]) for row in requests(store)] == expected
        counted = store.query("SELECT bucket_at, requests FROM request_rollups").rows
        began = Counter(at + moved - timedelta(minutes=(at + moved).minute % 5) for at in times)
        assert dict(counted) == began
    before = requests(store)
    link(store)
    assert requests(store) == before


def test_a_line_that_is_read_again_leaves_the_stream_that_it_meant(store: Store) -> None:
    trace = connection()
    put(store, connections=[trace], streams=[stream(trace)], request_lines=[line(0, path="/a")])
    link_since(store, NOTHING)
    assert (only(store)["link"], only(store)["path"]) == ("id", "/a")
    since = mark(store)
    put(store, request_lines=[line(0, path="/a", time=NOON + timedelta(hours=1))])
    link_since(store, since)
    found = {row["request_id"]: (row["started_at"], row["link"], row["path"]) for row in requests(store)}
    assert found == {
        f"{ID}/0": (NOON, "none", None),
        "log:log1/0": (NOON + timedelta(hours=1), "none", "/a"),
    }
    before = requests(store)
    link(store)
    assert requests(store) == before


@pytest.mark.parametrize("is_merged", [pytest.param(False, marks=pytest.mark.long), True])
@pytest.mark.parametrize("later", [timedelta(minutes=3), timedelta(hours=13)])
def test_a_trace_that_is_read_again_with_another_time_is_linked_once(
    store: Store, later: timedelta, is_merged: bool
) -> None:
    trace = connection()
    put(store, connections=[trace], streams=[stream(trace), stream(trace, 4)])
    link_since(store, NOTHING)
    since = mark(store)
    at = NOON + later
    moved = {**trace, "version": trace["version"] + 5, "started_at": at, "trace_day": at.date()}
    put(store, connections=[moved], streams=[stream(moved), stream(moved, 4)])
    if is_merged:
        store.command("OPTIMIZE TABLE streams FINAL")
        store.command("OPTIMIZE TABLE connections FINAL")
    link_since(store, since)
    found = [(row["request_id"], row["started_at"]) for row in requests(store)]
    assert found == [(f"{ID}/0", at), (f"{ID}/4", at)]
    assert store.query("SELECT started_hour, requests FROM request_rollups").rows == [(at.replace(minute=0), 2)]
    link(store)
    assert [(row["request_id"], row["started_at"]) for row in requests(store)] == found


@pytest.mark.parametrize(
    ("later", "is_told"), [(timedelta(seconds=60), False), (timedelta(minutes=2), True), (timedelta(hours=14), True)]
)
def test_an_id_that_two_connections_have_is_told(
    store: Store, caplog: pytest.LogCaptureFixture, later: timedelta, is_told: bool
) -> None:
    """One of them has the request. A trace that got another clock is one connection."""
    at = NOON + later
    one = connection(trace_id="s1")
    two = connection(trace_id="s2", started_at=at, trace_day=at.date())
    clock = connection("0102030405060708", "s3")
    moved = {**clock, "started_at": at, "trace_day": at.date(), "version": clock["version"] + 5}
    for traces in ([one, clock], [two, moved]):
        put(store, connections=traces, streams=[stream(each) for each in traces])
        caplog.clear()
        link_since(store, NOTHING)
    found = {row["request_id"]: (row["trace_id"], row["started_at"]) for row in requests(store)}
    assert found == {f"{ID}/0": ("s1", NOON), "0102030405060708/0": ("s3", at)}
    assert ("1 ids have several connections each" in caplog.text) == is_told


@pytest.mark.long
def test_many_steps_give_what_one_gives(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(store)
    link(store)
    at_once = requests(store)
    for limits in ((2, 100), (100, 1), (1, 1)):
        monkeypatch.setattr(hand, "AT_ONCE", limits[0])
        monkeypatch.setattr(hand, "REQUESTS_AT_ONCE", limits[1])
        store.command("TRUNCATE TABLE request_versions")
        link_since(store, NOTHING)
        assert requests(store) == at_once
