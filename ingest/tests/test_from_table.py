"""Lines of somebody else's table, in the real engine: each row once, whatever its time is and whenever it comes."""

import json
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from quiclens_ingest import mapping
from quiclens_ingest.from_table import TableReader
from quiclens_ingest.lines import Converter
from quiclens_ingest.load import LoadError
from quiclens_schema.store import Store
from taking import COLLECTOR

pytestmark = pytest.mark.skipif(not COLLECTOR.is_file(), reason="no quiclens-collector: cargo build --release")

EPOCH = datetime(1971, 1, 1, tzinfo=UTC)
AT = 1_795_168_800  # 2026-11-20T10:00:00Z
COLUMNS = {"time": {"from": "at"}, "path": {"from": "url"}, "external_id": {"from": "id"}}


def reader(store: Store, secret: Path | None = None, **more: Any) -> TableReader:
    form = {"columns": {**COLUMNS, **more.pop("columns", {})}}
    source = mapping.of({"table": "log", "time": "at", "format": form, **more})
    return TableReader(store, source, Converter(source, COLLECTOR, secret))


def add(store: Store, rows: Sequence[dict[str, Any]]) -> None:
    store.command("INSERT INTO log FORMAT JSONEachRow\n" + "\n".join(map(json.dumps, rows)))


def made(store: Store, kind: str, more: str = "") -> None:
    store.command(f"CREATE TABLE log (at {kind}, url String, id String {more}) ENGINE = MergeTree ORDER BY tuple()")


def stored(store: Store) -> Counter[tuple[str, str]]:
    """Time and external id of every line, each as often as it is there."""
    sql = "SELECT toString(time), external_id FROM request_lines FINAL LIMIT 1000000"
    return Counter((str(time), str(name)) for time, name in store.query(sql).rows)


@pytest.mark.parametrize(
    ("kind", "unit", "value", "time"),
    [
        ("DateTime", None, AT, "2026-11-20 10:00:00.000000"),
        ("DateTime('Asia/Tokyo')", None, AT, "2026-11-20 10:00:00.000000"),
        ("DateTime64(3, 'America/New_York')", None, f"{AT}.250", "2026-11-20 10:00:00.250000"),
        ("Nullable(DateTime64(6))", None, f"{AT}.000001", "2026-11-20 10:00:00.000001"),
        ("UInt32", "s", AT, "2026-11-20 10:00:00.000000"),
        ("Int64", "ms", AT * 1000 + 7, "2026-11-20 10:00:00.007000"),
        ("UInt64", "us", AT * 1_000_000 + 7, "2026-11-20 10:00:00.000007"),
        ("Nullable(UInt64)", "ns", AT * 1_000_000_000 + 7000, "2026-11-20 10:00:00.000007"),
    ],
)
def test_times_of_every_type_are_read(store: Store, kind: str, unit: str | None, value: object, time: str) -> None:
    made(store, kind)
    add(store, [{"at": value, "url": "/", "id": "a"}])
    units: dict[str, Any] = {"time_unit": unit, "columns": {"time": {"from": "at", "unit": unit}}} if unit else {}
    found = reader(store, **units).take(EPOCH)
    assert (found.rows, found.lines, found.rejected) == (1, 1, Counter())
    assert stored(store) == {(time, "a"): 1}


def test_each_row_is_one_line_however_often_it_is_taken_and_by_whom(store: Store) -> None:
    made(store, "DateTime")
    # Two hours; rows that are alike are several requests.
    times = {number: AT + 600 * number for number in range(12)}
    rows = [{"at": at, "url": "/", "id": str(number % 7)} for number, at in times.items()] * 2
    add(store, rows)
    told = [(f"{datetime.fromtimestamp(at, UTC):%F %T}.000000", str(number % 7)) for number, at in times.items()]
    want = Counter(told * 2)
    first = reader(store)
    found = first.take(EPOCH)
    assert (found.hours, found.rows, found.lines) == (2, 24, 24) and stored(store) == want
    assert (first.take(EPOCH).rows, reader(store).take(EPOCH).rows) == (0, 0)
    late = {"at": AT + 1, "url": "/late", "id": "late"}
    add(store, [late, rows[0]])
    assert first.take(EPOCH).rows == 4  # of two seconds
    want += Counter({("2026-11-20 10:00:01.000000", "late"): 1, ("2026-11-20 10:00:00.000000", "0"): 1})
    assert stored(store) == want
    add(store, [late | {"id": "later"}])
    assert reader(store).take(EPOCH).hours == 1  # who does not know the seconds reads the hour
    assert stored(store) == want + Counter({("2026-11-20 10:00:01.000000", "later"): 1})


def test_a_key_says_which_rows_are_one(store: Store) -> None:
    made(store, "DateTime", ", version UInt8")
    add(store, [{"at": AT, "url": f"/{version}", "id": "a", "version": version} for version in (1, 2)])
    reader(store, key=["id"]).take(EPOCH)
    assert stored(store) == {("2026-11-20 10:00:00.000000", "a"): 1}


def test_a_second_with_more_rows_than_are_held_is_read_in_parts(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quiclens_ingest.from_table.slices.__defaults__", (10,))
    made(store, "DateTime")
    add(store, [{"at": AT, "url": "/", "id": str(number % 40)} for number in range(80)])
    assert reader(store).take(EPOCH).lines == 80
    assert stored(store) == Counter({("2026-11-20 10:00:00.000000", str(number)): 2 for number in range(40)})


def test_rows_that_cannot_be_lines_are_rejected_with_their_place_and_counted_once(store: Store) -> None:
    made(store, "DateTime", ", said String")
    add(store, [{"at": AT, "url": "/", "id": "a", "said": "never"}, {"at": AT, "url": "/", "id": "b", "said": str(AT)}])
    one = reader(store, columns={"time": {"from": "said"}})
    found = one.take(EPOCH)
    assert (found.rows, found.lines, found.rejected.total()) == (2, 1, 1)
    ((source, offset, file),) = store.query("SELECT source, offset, file FROM rejects FINAL").rows
    assert (source, file) == ("log/2026-11-20T10Z", "table log") and offset > 1 << 32
    assert reader(store, columns={"time": {"from": "said"}}).take(EPOCH).rows == 0


def test_no_address_of_others_is_kept(store: Store, tmp_path: Path) -> None:
    made(store, "DateTime", ", ip String, port UInt16, labels Map(String, String), note String")
    secret = tmp_path / "secret"
    secret.write_text("a secret of thirty-two letters..")
    canary = "198.51.100.77"
    labels = {"carrier": "x", "from": canary}
    add(
        store,
        [
            {
                "at": AT,
                "url": f"/?ip={canary}",
                "id": canary,
                "ip": canary,
                "port": 5,
                "labels": labels,
                "note": f"of {canary}",
            }
        ],
    )
    columns = {"client_address": {"from": "ip"}, "client_port": {"from": "port"}, "carrier": {"from": "labels.carrier"}}
    reader(store, secret, columns=columns, keep=["note"]).take(EPOCH)
    (row,) = store.query("SELECT * FROM request_lines").dicts()
    assert (row["client_network"], row["carrier"]) == ("198.51.100.0/24", "x") and row["client_key"]
    assert "note" in row["more"] and canary not in str(row)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"table": "nowhere"}, "there is no table default.nowhere"),
        ({"table": "no.where"}, "there is no table no.where"),
        ({"time": "when"}, "has no column when; it has at, id, url"),
        ({"columns": {"method": {"from": "verb.x"}}}, "has no column verb"),
        ({"time": "url"}, "time is String, not a DateTime"),
        ({"columns": {"speed": {"from": "url"}}}, "speed"),
    ],
)
def test_what_cannot_be_read_is_told(store: Store, more: dict[str, Any], says: str) -> None:
    made(store, "DateTime")
    add(store, [{"at": AT, "url": "/", "id": "a"}])
    with pytest.raises(LoadError, match=says):
        reader(store, **more).take(EPOCH)


def test_names_of_others_are_names_and_nothing_else(store: Store) -> None:
    """A column or table may be called anything, also what a statement of ours uses."""
    name = 'at"; DROP TABLE log; --'
    store.command('CREATE TABLE "we""ird.." (`at"; DROP TABLE log; --` DateTime, `count` String) ENGINE = Memory')
    store.command('INSERT INTO "we""ird.." VALUES (now(), \'/\')')
    form = {"columns": {"time": {"from": name}, "path": {"from": "count"}}}
    source = mapping.Mapping(
        "log", mapping.of({"topic": "x", "format": form}).format, (name, "count"), ('we"ird..',), time=name
    )
    assert TableReader(store, source, Converter(source, COLLECTOR, None)).take(EPOCH).lines == 1
