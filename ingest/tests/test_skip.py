"""A batch that Kafka's client cannot read: what follows it is taken, and nothing else is passed over."""

from typing import Any

import pytest
from quiclens_ingest.skip import Skip
from quiclens_schema.store import Store
from taking import Pipe, running, until, value


@pytest.mark.parametrize("count", [1, 2, 3, 7, 64, 1000, 100_000])
@pytest.mark.parametrize("behind", [0, 1, 50])
@pytest.mark.parametrize("next_is_bad", [False, True])
def test_the_end_of_a_batch_is_found_in_few_tries(count: int, behind: int, next_is_bad: bool) -> None:
    """Of a topic with a batch of so many messages from 100 on, and some behind it, in a batch that may be bad too."""
    end = 100 + count + behind
    skip = Skip(100, 100, "bad_compression")
    asked = 0
    while not skip.is_over:
        asked += 1
        assert skip.tried < end or not behind
        if skip.tried < 100 + count:
            skip.fails(100, end)
        elif next_is_bad:
            skip.fails(100 + count, end)
        else:
            assert skip.gives() or skip.is_over
    assert skip.tried == 100 + count
    assert asked < 100


def test_what_is_read_at_the_second_try_is_not_passed_over() -> None:
    skip = Skip(100, 100, "bad_compression")
    assert not skip.fails(100, 200)
    assert not skip.gives()
    assert not skip.is_over


@pytest.mark.kafka
@pytest.mark.parametrize("batches", [[1], [1, 1], [5, 3]])
def test_a_batch_that_decompresses_to_too_much_is_rejected_and_what_follows_is_taken(
    store: Store, pipe: Pipe, loaded: Any, batches: list[int]
) -> None:
    """The broker takes it: it is some KB large there."""
    (_, good) = next(rows for rows in loaded.rows if rows[0] == "streams")
    said = {"table": "streams", "rows": str(good.num_rows)}
    pipe.send_raw("streams", value(good), said, partition=0)
    pipe.flush()
    for count in batches:
        bombs = [bytes(130 << 20), *[b"small"] * (count - 1)]
        pipe.send_compressed("streams", bombs, said)
    first = next(place.offset for place in pipe.begin if (place.topic, place.partition) == ("quic.streams.v1", 0)) + 1
    with running(store, pipe) as process:
        until(lambda: process.count("rejects_total", reason="bad_compression") == len(batches), 120)
        until(lambda: pipe.lag() == 0)  # also where nothing comes behind it
        pipe.send_raw("streams", value(good), said, partition=0)
        pipe.flush()
        until(lambda: process.count("rows_total", table="streams") == 2 * good.num_rows, 60)
    found = store.query("SELECT `offset`, reason, bytes FROM rejects FINAL ORDER BY `offset` LIMIT 9").rows
    expected = []
    for count in batches:
        expected.append((first, "bad_compression", f"offsets {first} to {first + count - 1}"))
        first += count
    assert found == expected
    assert process.count("offsets_missed_total") == sum(batches) - len(batches)
