"""Late retention of `quiclens-collector run`: whose events are kept, when they come, and what kills leave of that."""

import gzip
import json
import re
import signal
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from test_follow import VECTORS, Collector, pytestmark, read_once, records, time_zones, without_names

__all__ = ["pytestmark", "time_zones"]

SLOW = "slow_ms = 400\nshare = 0.0\n"

Make = Callable[..., Collector]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """Makes collectors with a table of retention."""
    made: list[Collector] = []

    def one(rules: str, idle_timeout_s: int = 2) -> Collector:
        made.append(Collector(tmp_path / f"run{len(made)}"))
        text = re.sub(r"idle_timeout_s = \d+", f"idle_timeout_s = {idle_timeout_s}", made[-1].config.read_text())
        made[-1].config.write_text(f"{text}[retention]\n{rules}\n")
        return made[-1]

    yield one
    for each in made:
        if each.process is not None:
            each.end(signal.SIGKILL)


def stands(collector: Collector) -> list[tuple[str, float, float]]:
    """What the newest rows of connections say of their events."""
    rows = collector.rows("connections").values()
    return [(row["events_kept"], row["event_probability"], row["trace_probability"]) for row in rows]


def another(case: str, number: int) -> list[bytes]:
    """The records of a case as another connection's."""
    header, *lines = records(case)
    return [header.replace(b'"ODCID": "', b'"ODCID": "%08x' % number), *lines]


def has_connections(collector: Collector, count: int) -> bool:
    return len(collector.rows("connections")) == count


def shared(cases: list[str], copies: int) -> list[bytes]:
    """One file of many connections, their records in turn, that differ by their group_id."""
    header: bytes = b""
    rows = []
    for number in range(copies):
        case = cases[number % len(cases)]
        header, *lines = records(case)
        rows.append([json.loads(line[1:]) | {"group_id": f"{number:016x}"} for line in lines])
    for row in range(max(map(len, rows))):
        lines_now = [each[row] for each in rows if row < len(each)]
        header += b"".join(b"\x1e" + json.dumps(record).encode() + b"\n" for record in lines_now)
    return [line + b"\n" for line in header.split(b"\n") if line]


def kept(collector: Collector) -> dict[str, list[int]]:
    """Places of the events that are there, by trace."""
    found: dict[str, list[int]] = {}
    for trace_id, seq in sorted(collector.rows("events")):
        found.setdefault(trace_id, []).append(seq)
    return found


def test_a_slow_request_on_an_open_connection_brings_all_its_events(make: Make) -> None:
    lines = records("aioquic_think_server")
    collector = make(SLOW, idle_timeout_s=600)
    collector.start()
    with (collector.logs / "trace.sqlog").open("wb", buffering=0) as file:
        file.write(b"".join(lines[:-2]))
        collector.wait(lambda: stands(collector) == [("none", 0.0, 1.0)])
        assert not collector.rows("events")
        file.write(lines[-2])  # the acknowledgement that ends it
        collector.wait(lambda: stands(collector) == [("all", 1.0, 1.0)])
        assert collector.has_seqs(len(lines) - 2) and not collector.is_complete()
        file.write(lines[-1])
        collector.wait(lambda: collector.has_seqs(len(lines) - 1))


def test_what_is_not_worth_it_leaves_its_summaries(make: Make, tmp_path: Path) -> None:
    lines = records("aioquic_clean_server")
    collector = make(SLOW + "trace_probability = 0.5\nfailed = true\nlossy = 0.05")
    (collector.logs / "trace.sqlog").write_bytes(b"".join(lines))
    collector.start()
    collector.wait(collector.is_complete)
    assert stands(collector) == [("none", 0.0, 0.5)] and not collector.rows("events")
    wanted = read_once(tmp_path, b"".join(lines))
    for table in ("streams", "episodes", "connection_aliases"):
        assert without_names(collector.rows(table)) == without_names(wanted[table])


@pytest.mark.parametrize(
    ("case", "rules"),
    [
        ("aioquic_burst_loss_server", "lossy = 0.001\nshare = 0.0"),
        ("aioquic_clean_server", "novel = true\nshare = 0.0"),
        ("aioquic_clean_server", "share = 1.0"),
    ],
)
def test_the_other_rules_keep_too(make: Make, case: str, rules: str) -> None:
    lines = records(case)
    collector = make(rules)
    (collector.logs / "trace.sqlog").write_bytes(b"".join(lines))
    collector.start()
    collector.wait(collector.is_complete)
    assert stands(collector) == [("all", 1.0, 1.0)] and collector.has_seqs(len(lines) - 1)


def test_the_second_of_a_kind_is_not_new_also_after_a_restart(make: Make) -> None:
    collector = make("novel = true\nshare = 0.0")
    for number, case in enumerate(("aioquic_clean_server", "aioquic_think_server")):
        (collector.logs / f"{case}.sqlog").write_bytes(b"".join(another(case, number)))
        collector.start()
        collector.wait(partial(has_connections, collector, number + 1))
        collector.wait(collector.is_complete)
        assert collector.end(signal.SIGTERM) == 0
    assert sorted(stands(collector)) == [("all", 1.0, 1.0), ("none", 0.0, 1.0)]


def test_documents_and_compressed_files_are_decided_at_their_end(make: Make) -> None:
    collector = make(SLOW)
    collector.start()
    slow, quick = "aioquic_think_server", "aioquic_clean_server"
    for number, case in enumerate((slow, quick)):
        document = (VECTORS / case / "input.qlog").read_bytes()
        document = document.replace(b'"ODCID": "', b'"ODCID": "d%d' % number)
        (collector.logs / f"{case}.qlog").write_bytes(document)
        (collector.logs / f"{number}.sqlog.gz").write_bytes(gzip.compress(b"".join(another(case, number))))
    collector.wait(lambda: len(collector.rows("connections")) == 4 and collector.is_complete())
    assert sorted(stands(collector)) == 2 * [("all", 1.0, 1.0)] + 2 * [("none", 0.0, 1.0)]
    every = list(range(len(records(slow)) - 1))
    assert list(kept(collector).values()) == [every, every]


def test_a_shared_file_is_read_again_for_those_that_were_slow(make: Make, tmp_path: Path) -> None:
    collector = make(SLOW)
    content = b"".join(shared(["aioquic_think_server", "aioquic_clean_server"], 12))
    (collector.logs / "all.sqlog").write_bytes(content)
    collector.start()
    collector.wait(collector.is_complete)
    wanted = read_once(tmp_path, content)
    slow = {key[0] for key, row in wanted["streams"].items() if row["duration_us"] > 400_000}
    assert len(slow) == 6
    found = collector.rows("events")
    assert without_names(found) == without_names({key: row for key, row in wanted["events"].items() if key[0] in slow})
    assert {row["trace_id"] for row in collector.rows("connections").values() if row["events_kept"] == "all"} == slow


@pytest.mark.long
def test_kills_while_events_are_read_again_lose_and_double_nothing(make: Make, tmp_path: Path) -> None:
    lines = shared(["aioquic_think_server"], 480)
    content = b"".join(lines)
    collector = make(SLOW, idle_timeout_s=8)
    path = collector.logs / "all.sqlog"
    path.write_bytes(b"".join(lines[: len(lines) // 3]))
    collector.start()
    collector.wait(lambda: len(collector.rows("connections")) == 480)
    path.write_bytes(content)  # the same beginning, and the slow requests' ends
    interrupted = 0
    for number in range(8):
        before = len(list((collector.out / "events").glob("*.arrow")))
        began = time.monotonic()
        while len(list((collector.out / "events").glob("*.arrow"))) == before and time.monotonic() - began < 3:
            time.sleep(0.002 * number)
        collector.end(signal.SIGKILL)
        interrupted += 0 < len(collector.rows("events")) < len(lines) - 1
        collector.start()
    collector.wait(collector.is_complete, 60)
    assert interrupted, "no kill came while events were read again"
    wanted = read_once(tmp_path, content)
    for table in ("events", "streams", "episodes", "connections"):
        assert without_names(collector.rows(table)) == without_names(wanted[table]), table


def test_a_deleted_file_is_read_again_through_its_descriptor(make: Make) -> None:
    lines = records("aioquic_think_server")
    collector = make(SLOW)
    collector.start()
    path = collector.logs / "trace.sqlog"
    with path.open("wb", buffering=0) as file:
        file.write(b"".join(lines[:80]))
        collector.wait(lambda: stands(collector) == [("none", 0.0, 1.0)])
        path.unlink()
        file.write(b"".join(lines[80:]))
        collector.wait(lambda: collector.has_seqs(len(lines) - 1))
    collector.wait(collector.is_complete)
    assert stands(collector) == [("all", 1.0, 1.0)]


def test_what_was_truncated_before_the_decision_is_lost_and_said(make: Make) -> None:
    lines = records("aioquic_think_server")
    collector = make(SLOW, idle_timeout_s=600)
    collector.start()
    path = collector.logs / "trace.sqlog"
    path.write_bytes(b"".join(lines[:-2]))  # a request that is slow, should it end here
    collector.wait(lambda: stands(collector) == [("none", 0.0, 1.0)])
    assert collector.process is not None and collector.process.stderr is not None
    with path.open("r+b") as file:
        file.truncate(0)
    collector.wait(lambda: stands(collector) == [("none", 1.0, 1.0)])
    assert not collector.is_complete() and not collector.rows("events")
    process = collector.process
    process.send_signal(signal.SIGTERM)
    assert b"events were to be kept, but their files are gone connections=1" in process.communicate()[1]
    collector.process = None


def test_without_events_every_row_says_so(tmp_path: Path) -> None:
    collector = Collector(tmp_path / "run", "events = false")
    (collector.logs / "trace.sqlog").write_bytes(b"".join(records("aioquic_think_server")))
    collector.start()
    try:
        collector.wait(collector.is_complete)
        assert stands(collector) == [("none", 0.0, 1.0)] and not collector.rows("events")
    finally:
        collector.end(signal.SIGKILL)


def test_connections_of_one_name_after_each_other_are_read_again_apart(make: Make) -> None:
    """The first is decided by its end, while the file goes on; the second by a slow request."""

    def named(case: str, group: str) -> list[bytes]:
        header, *lines = records(case)
        return [
            header,
            *(b"\x1e" + json.dumps(json.loads(line[1:]) | {"group_id": group}).encode() + b"\n" for line in lines),
        ]

    header, *first = named("aioquic_burst_loss_server", "aaaaaaaaaaaaaaaa")
    second = named("aioquic_think_server", "aaaaaaaaaaaaaaaa")[1:]
    second[0] = second[0].replace(b'"group_id"', b'"copy": 2, "group_id"')  # the lab's logs all begin alike
    quiet = named("aioquic_clean_server", "bbbbbbbbbbbbbbbb")[1:]
    collector = make("slow_ms = 700\nlossy = 0.001\nshare = 0.0", idle_timeout_s=3)
    collector.start()
    with (collector.logs / "all.sqlog").open("wb", buffering=0) as file:
        file.write(b"".join((header, *quiet[:70], *first)))
        others = iter(quiet[70:])

        def goes_on() -> bool:
            file.write(next(others, b""))
            time.sleep(0.5)
            return any(row["complete"] for row in collector.rows("connections").values())

        collector.wait(goes_on)
        (ended,) = (row for row in collector.rows("connections").values() if row["complete"])
        assert (ended["events_kept"], ended["events_seen"]) == ("all", len(first))
        assert kept(collector) == {ended["trace_id"]: list(range(len(first)))}
        file.write(b"".join(second))
    collector.wait(lambda: len(collector.rows("connections")) == 3)
    collector.wait(collector.is_complete)
    assert sorted(map(len, kept(collector).values())) == sorted((len(first), len(second)))
    assert all(seqs == list(range(len(seqs))) for seqs in kept(collector).values())
    assert sorted(stands(collector)) == 2 * [("all", 1.0, 1.0)] + [("none", 0.0, 1.0)]
