"""Rows that a store refuses for what they hold: told from their neighbours, by a number of tries that is bounded."""

import json
from collections.abc import Collection
from typing import Any, cast

import pyarrow as pa
import pytest
from arrow_batches import batch
from hypothesis import given, settings
from hypothesis import strategies as st
from quiclens_ingest.frames import Batch
from quiclens_ingest.narrow import TRIES_MAX, RowsStored, store_batch
from quiclens_schema.store import Store, StoreError


class Fake:
    """Takes rows, but none whose offset is bad."""

    def __init__(self, bad: Collection[int]) -> None:
        self.bad = frozenset(bad)
        self.taken: list[int] = []
        self.rejects: list[dict[str, Any]] = []
        self.tries = 0

    def insert_arrow(self, table: str, stream: bytes, rows: int, newer: Collection[str] = ()) -> int:
        found = pa.ipc.open_stream(stream).read_all()
        assert found.num_rows == rows
        if table == "rejects":
            self.rejects += found.to_pylist()
            return 0
        self.tries += 1
        offsets = found.column("offset").to_pylist()
        if not self.bad.isdisjoint(offsets):
            raise StoreError("it is out of range", code=321)
        self.taken += offsets
        return 0


def lines(count: int) -> Batch:
    rows = [{"log_id": "log", "offset": number, "path": f"/{number}"} for number in range(count)]
    table, stream, number = batch("request_lines", rows)
    return Batch(table, number, stream)


def given_to(store: object, of: Batch) -> RowsStored:
    return store_batch(cast("Store", store), of, "a place")


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 60), st.sets(st.integers(0, 59), max_size=8))
def test_each_bad_row_is_a_reject_and_each_good_one_is_stored_once(count: int, chosen: set[int]) -> None:
    bad = sorted(number for number in chosen if number < count)
    store = Fake(bad)
    assert given_to(store, lines(count)) == RowsStored(0, len(bad))
    assert sorted(store.taken) == [number for number in range(count) if number not in bad]
    assert sorted((row["source"], row["offset"], row["reason"], row["file"]) for row in store.rejects) == [
        ("log", number, "refused_by_store", "a place") for number in bad
    ]
    assert {json.loads(row["bytes"])["path"] for row in store.rejects} == {f"/{number}" for number in bad}


def test_one_bad_row_of_many_costs_two_tries_for_each_halving() -> None:
    store = Fake([77])
    assert given_to(store, lines(1 << 12)) == RowsStored(0, 1)
    assert store.tries == 1 + 2 * 12


def test_where_too_many_are_bad_they_are_rejected_together_and_counted() -> None:
    count = 8 * TRIES_MAX
    store = Fake(range(0, count, 2))
    assert given_to(store, lines(count)) == RowsStored(0, count)
    assert store.tries < 2 * TRIES_MAX + 2 and store.taken == []
    told = [[json.loads(row)["offset"] for row in each["bytes"].splitlines()] for each in store.rejects]
    assert sorted(offset for offsets in told for offset in offsets) == list(range(count))
    assert [each["offset"] for each in store.rejects] == [offsets[0] for offsets in told]


def test_a_store_that_is_away_in_between_is_an_error() -> None:
    class Away(Fake):
        def insert_arrow(self, table: str, stream: bytes, rows: int, newer: Collection[str] = ()) -> int:
            if self.tries == 3:
                raise StoreError("away")
            return super().insert_arrow(table, stream, rows, newer)

    store = Away([5])
    with pytest.raises(StoreError, match="away"):
        given_to(store, lines(10))
    assert store.rejects == []


def test_days_and_times_beyond_a_column_are_told_as_numbers(store: Store) -> None:
    days = {0: 10, 1: 69_396, 2: 11, 3: 3_000_000}  # the last two bad ones: of 2160, and past all years of Python
    rows = [
        {"log_id": "log", "offset": number, "line_day": day, "time": day * 86_400_000_000, "time_is": "start"}
        for number, day in days.items()
    ]
    table, stream, count = batch("request_lines", rows)
    assert given_to(store, Batch(table, count, stream)) == RowsStored(0, 2)
    assert store.query("SELECT offset FROM request_lines ORDER BY offset").rows == [(0,), (2,)]
    found = store.query("SELECT source, offset, bytes FROM rejects ORDER BY offset").rows
    told = [(source, offset, json.loads(text)) for source, offset, text in found]
    assert [(source, offset, row["line_day"], row["time"]) for source, offset, row in told] == [
        ("log", number, days[number], days[number] * 86_400_000_000) for number in (1, 3)
    ]
