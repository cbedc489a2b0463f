"""What pictures of a long connection are drawn from: nothing that matters is left out, and near by all is there."""

from collections.abc import Iterator

import pytest
from pydantic import TypeAdapter
from quiclens_schema import store as stores
from quiclens_schema.store import Store
from serve_process import start
from store_rows import plant

from quiclens_questions import series as drawn
from quiclens_questions.document import document_text
from quiclens_questions.documents import SeriesDocument
from quiclens_questions.series import BUCKETS, EXACT_AT_MOST, View, series

EVENTS = 60_000
EACH_US = 10
TRACE = {"connection_id": "5e11e5", "vantage": "server", "trace_id": "5e11e5"}
WHOLE = View(0, EVENTS * EACH_US)

# Every other event is a packet of 1,000 bytes; one in 5,000 a loss, and one in a hundred grants another 100 bytes.
_PLANTED = f"""
INSERT INTO events (connection_id, vantage, trace_id, seq, trace_day, time_us, name, packet_type, packet_number,
    packet_bytes, congestion_window, `frames.frame_type`, `frames.stream_id`, `frames.offset`, `frames.length`,
    `frames.fin`, `frames.maximum`, `frames.ack_delay_us`, `frames.ack_ranges`, `frames.shape`)
SELECT '5e11e5', 'server', '5e11e5', number, '2026-01-01', number * {EACH_US},
    multiIf(number % 5000 = 7, 'quic:packet_lost', number % 2 = 1, 'quic:packet_sent',
        number % 4 = 0, 'quic:recovery_metrics_updated', 'quic:packet_received') AS called,
    '1RTT', number, if(called LIKE '%packet_sent', 1000, NULL),
    if(called LIKE '%metrics%', 10000 + cityHash64(number) % 5000, NULL),
    [if(called LIKE '%received', 'max_data', 'stream')], [0], [number * 1000], [1000], [0], [number * 100],
    [0], [0], ['']
FROM numbers({EVENTS})
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    folder = tmp_path_factory.mktemp("series") / "store"
    plant(folder, _PLANTED)
    served = start(folder, "--keep-events", "0", "--keep-summaries", "0")
    with stores.open(served.url) as opened:
        yield opened
    assert served.stop() == 0


def lost(document: SeriesDocument) -> list[int]:
    marks = document["marks"]
    named = zip(marks.get("seq", []), marks.get("name", []), strict=True)
    return [seq for seq, name in named if name == "quic:packet_lost"]


def as_promised(found: SeriesDocument) -> bool:
    """Whether it is what the API's description says; raises with the place where it is not."""
    TypeAdapter(SeriesDocument).validate_json(document_text(found), strict=True)
    return True


def test_from_afar_sums_and_extremes_are_those_of_all_events(store: Store) -> None:
    found = series(store, TRACE, WHOLE)
    assert as_promised(found)
    assert found["events"] == EVENTS > EXACT_AT_MOST and not found["exact"]
    packets, metrics = found["packets"], found["metrics"]
    assert len(packets["bucket_start_us"]) <= BUCKETS + 1
    losses = EVENTS // 5000
    assert sum(packets["packets_sent"]) == EVENTS // 2 - losses
    assert sum(packets["bytes_sent"]) == sum(found["frames"]["bytes_sent"]) == 1000 * (EVENTS // 2 - losses)
    extremes = store.query(
        "SELECT min(congestion_window), max(congestion_window) FROM events WHERE trace_id = '5e11e5'"
    ).one()
    least, greatest, _ = zip(*metrics["congestion_window"], strict=True)
    assert (min(least), max(greatest)) == extremes


def test_losses_are_there_one_by_one_and_limits_as_they_stood_at_each_buckets_end(store: Store) -> None:
    found = series(store, TRACE, WHOLE)
    assert as_promised(found)
    assert lost(found) == list(range(7, EVENTS, 5000))
    limits = found["limits"]
    assert len(limits["maximum"]) <= BUCKETS + 1
    assert list(limits["maximum"]) == sorted(limits["maximum"])
    assert limits["maximum"][-1] == (EVENTS - 2) * 100


@pytest.mark.parametrize("first", [0, 1, 21_003, 59_999])
def test_near_by_every_event_of_the_stretch_is_there_and_no_other(store: Store, first: int) -> None:
    last = min(first + 9_999, EVENTS - 1)
    found = series(store, TRACE, View(first * EACH_US, last * EACH_US))
    assert as_promised(found)
    assert found["exact"] and found["events"] == last - first + 1
    given = {
        *found["packets"].get("seq", []),
        *found["metrics"].get("seq", []),
        *lost(found),
    }
    assert given == set(range(first, last + 1))


@pytest.mark.parametrize("first", [40_001, 100])
def test_what_was_sent_and_granted_before_a_stretch_is_where_it_begins(store: Store, first: int) -> None:
    found = series(store, TRACE, View(first * EACH_US, EVENTS * EACH_US))
    assert as_promised(found) and found["exact"] == (first > 10_000)
    before = range(first)
    sent = sum(1_000 for each in before if each % 2 == 1 and each % 5000 != 7)
    assert found["bytes_sent_before"] == sent
    granted = max((each * 100 for each in before if each % 4 == 2), default=0)
    limits = found["limits"]
    assert (limits["time_us"][0], limits["maximum"][0]) == (first * EACH_US, granted)
    assert len(limits["maximum"]) > 2 and list(limits["maximum"]) == sorted(limits["maximum"])
    assert series(store, TRACE, WHOLE)["bytes_sent_before"] == 0


def test_a_stretch_without_events_is_empty(store: Store) -> None:
    found = series(store, TRACE, View(EVENTS * EACH_US * 2, EVENTS * EACH_US * 3))
    assert found["events"] == 0 and found["exact"] and not found["packets"] and not found["marks"]


@pytest.mark.parametrize("view", [WHOLE, View(0, EACH_US * EXACT_AT_MOST // 2)])
def test_marks_that_are_cut_are_told_and_losses_are_all(
    store: Store, monkeypatch: pytest.MonkeyPatch, view: View
) -> None:
    whole = series(store, TRACE, view)
    assert not whole["marks_cut"] and whole["losses"] == len(lost(whole)) > 2
    monkeypatch.setattr(drawn, "MARKS_AT_MOST", 2)
    cut = series(store, TRACE, view)
    assert as_promised(cut) and cut["marks_cut"] and len(cut["marks"]["seq"]) == 2
    assert cut["losses"] == whole["losses"]
