"""`load` with a fake collector: a script that writes the frames it is told."""

import json
import re
import stat
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from arrow_batches import batch
from quiclens_ingest.frames import Progress
from quiclens_ingest.linking import remember_up_to
from quiclens_ingest.load import LoadError, and_link, command, load
from quiclens_ingest.mark import Mark, mark
from quiclens_schema.store import Store

SUMMARY = {
    "summary": {
        "files": 1,
        "connections": 1,
        "events": 2,
        "requests": 1,
        "rejected": {"not_json": 1},
        "values_unread": 3,
        "limits_crossed": {"kinds": 2},
        "bytes": 99,
        "seconds": 0.1,
        "touched": {"from": "2026-01-01T00:00:00Z", "to": "2026-01-01T01:00:00Z"},
    }
}
LINE = {"log_id": "log1", "time_is": "start", "duration_us": 7}
Collector = Callable[..., Path]


@pytest.fixture
def collector(tmp_path: Path) -> Collector:
    """Makes a program that writes these bytes, says this on standard error, and ends with this code."""

    def make(output: bytes, code: int = 0, complaint: str = "", after: str = "") -> Path:
        (tmp_path / "output").write_bytes(output)
        script = tmp_path / "collector"
        script.write_text(
            f"#!{sys.executable}\nimport sys, time\n"
            f"sys.stdout.buffer.write(open({str(tmp_path / 'output')!r}, 'rb').read()); sys.stdout.flush()\n"
            f"sys.stderr.write({complaint!r})\n{after}\nsys.exit({code})\n"
        )
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
        return script

    return make


def written(*items: dict[str, Any] | tuple[str, bytes, int]) -> bytes:
    out = b""
    for item in items:
        if isinstance(item, dict):
            out += json.dumps(item).encode() + b"\n"
        else:
            table, stream, rows = item
            out += json.dumps({"table": table, "rows": rows, "bytes": len(stream)}).encode() + b"\n" + stream
    return out


def lines(offsets: Sequence[int]) -> tuple[str, bytes, int]:
    return batch("request_lines", [{**LINE, "offset": offset} for offset in offsets])


def count(store: Store, table: str) -> int:
    (rows,) = store.query("SELECT count() FROM {table:Identifier}", {"table": table}).one()
    return int(rows)


def test_batches_are_inserted_and_linked_and_the_summary_is_the_collectors(store: Store, collector: Collector) -> None:
    seen: list[Progress] = []
    step = {"progress": {"files": 1, "files_total": 2, "bytes": 5, "bytes_total": 9, "events": 3, "rejected": 0}}
    fake = collector(written(lines([0, 10]), step, batch("rejects", [{"source": "s"}]), SUMMARY))
    summary = load(store, [Path("traces")], [Path("access.log")], collector=fake, progress=seen.append)
    assert summary.document() == {
        "files": 1,
        "connections": 1,
        "events": 2,
        "requests": 1,
        "rejected": {"not_json": 1},
        "values_unread": 3,
        "limits_crossed": {"kinds": 2},
        "erased": 0,
        "bytes": 99,
        "seconds": round(summary.seconds, 3),
    }
    assert seen == [Progress(files=1, files_total=2, bytes=5, bytes_total=9, events=3, rejected=0)]
    assert (count(store, "request_lines"), count(store, "rejects"), count(store, "requests")) == (2, 1, 2)


def test_loading_twice_changes_nothing(store: Store, collector: Collector) -> None:
    fake = collector(written(lines([0, 10]), SUMMARY))
    load(store, [Path("x")], collector=fake)
    before = store.query("SELECT * FROM requests ORDER BY request_id").rows
    assert load(store, [Path("x")], collector=fake).linked.requests == 2
    assert store.query("SELECT * FROM requests ORDER BY request_id").rows == before


def test_many_batches_go_through_two_hands(store: Store, collector: Collector) -> None:
    fake = collector(written(*(lines([number]) for number in range(30)), SUMMARY))
    load(store, [Path("x")], collector=fake)
    assert count(store, "requests") == 30


@pytest.mark.parametrize(
    ("output", "code", "complaint", "said"),
    [
        (b"", 0, "", "ended with 0 and without a summary"),
        (b"", 3, "warning: x\ncannot read /etc/shadow\n", "^cannot read /etc/shadow$"),
        (written(SUMMARY), 3, "half way\n", "^half way$"),
        (b"Usage: no frames\n", 0, "", "wrote no frame but b'Usage"),
        (b'{"table":"rejects","rows":1,"bytes":50}\nshort', 0, "", "ends inside a batch of table rejects"),
        (b'{"progress"', 0, "", "ends inside a line"),
        (b'{"table":"rejects","rows":1,"bytes":-1}\n', 0, "", "wrote no frame"),
        (b'{"table":"nowhere","rows":1,"bytes":1}\n.', 0, "", "no table nowhere"),
        (b'{"table":"rejects","rows":1,"bytes":1}\n.', 0, "", "not an Arrow IPC stream"),
        (b'{"neither":1}\n', 0, "", "wrote no frame"),
    ],
)
def test_a_collector_that_fails_is_an_error_in_one_line(
    store: Store, collector: Collector, output: bytes, code: int, complaint: str, said: str
) -> None:
    with pytest.raises(LoadError, match=said) as caught:
        load(store, [Path("x")], collector=collector(output, code, complaint))
    assert "\n" not in str(caught.value)


def test_a_batch_with_fewer_rows_than_claimed_stops_the_load_though_the_collector_goes_on(
    store: Store, collector: Collector
) -> None:
    table, stream, _ = lines([0])
    fake = collector(written((table, stream, 2), *[lines([1])] * 20), after="time.sleep(60)")
    with pytest.raises(LoadError, match="2 rows sent, 1 written"):
        load(store, [Path("x")], collector=fake)


def test_a_line_that_the_store_refuses_is_a_reject_and_the_others_are_stored(
    store: Store, collector: Collector
) -> None:
    offsets = [0, 10, 20]
    rows = [{**LINE, "offset": offset, "line_day": 69_396 if offset == 10 else 20_000} for offset in offsets]
    fake = collector(written(batch("request_lines", rows), lines([30]), SUMMARY))
    found = load(store, [], [Path("access.log")], collector=fake)
    assert found.document()["rejected"] == {"not_json": 1, "refused_by_store": 1}
    assert store.query("SELECT offset FROM requests ORDER BY offset").rows == [(0,), (20,), (30,)]
    ((source, offset, reason, text),) = store.query("SELECT source, offset, reason, bytes FROM rejects").rows
    assert (source, offset, reason, json.loads(text)["line_day"]) == ("log1", 10, "refused_by_store", 69_396)


def test_what_arrived_before_a_failure_is_linked(store: Store, collector: Collector) -> None:
    with pytest.raises(LoadError):
        load(store, [Path("x")], collector=collector(written(lines([0])), 3))
    assert count(store, "requests") == 1
    assert count(store, "link_pending") == 0


def test_what_a_killed_load_left_unlinked_is_linked_by_the_next(store: Store, collector: Collector) -> None:
    store.insert_arrow(*lines([5]))
    store.command("INSERT INTO link_pending (token) VALUES ('killed')")
    load(store, [Path("x")], collector=collector(written(lines([0]), SUMMARY)))
    assert count(store, "requests") == 2
    assert count(store, "link_pending") == 0


class Killed(BaseException):
    """A load ends without another word."""


def ids(store: Store) -> list[str]:
    return [log for (log,) in store.query("SELECT log_id FROM requests ORDER BY log_id LIMIT 100").rows]


def put(store: Store, log: str) -> None:
    store.insert_arrow(*batch("request_lines", [{**LINE, "log_id": log}]))


@pytest.mark.parametrize("has_begun_before", [False, True])
def test_what_a_load_stored_that_is_killed_after_another_one_ended_is_linked_by_the_next(
    store: Store, has_begun_before: bool
) -> None:
    if has_begun_before:
        and_link(store, lambda: put(store, "0"))

    def is_killed() -> None:
        put(store, "a")
        and_link(store, lambda: put(store, "b"))
        put(store, "c")
        raise Killed

    with pytest.raises(Killed):
        and_link(store, is_killed)
    and_link(store, lambda: put(store, "d"))
    assert ids(store) == ["0"] * has_begun_before + ["a", "b", "c", "d"]


def test_a_load_that_ends_while_another_one_runs_links_what_that_one_has_and_the_other_the_rest(store: Store) -> None:
    seen = []

    def outer() -> None:
        put(store, "a")
        and_link(store, lambda: put(store, "b"))
        seen.append(ids(store))
        put(store, "c")

    and_link(store, outer)
    assert (seen, ids(store)) == ([["a", "b"]], ["a", "b", "c"])


def test_what_is_new_is_linked_alone_and_all_where_nobody_knows_what_is(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(store, "a")
    assert and_link(store, lambda: put(store, "b"))[1].requests == 2
    monkeypatch.setattr("quiclens_ingest.load.link", None)
    assert and_link(store, lambda: put(store, "c"))[1].requests == 1

    def fails() -> None:
        put(store, "d")
        raise LoadError("half way")

    with pytest.raises(LoadError, match="half way"):
        and_link(store, fails)
    assert ids(store) == ["a", "b", "c", "d"]
    assert and_link(store, lambda: None)[1].requests == 0


def test_a_mark_of_before_the_store_was_restored_hides_nothing(store: Store) -> None:
    and_link(store, lambda: put(store, "a"))
    known = json.loads(mark(store).text())
    far = [[table, [[partition, first, 10_000] for partition, first, _ in runs]] for table, runs in known]
    remember_up_to(store, Mark.of(json.dumps(far)))
    and_link(store, lambda: put(store, "b"))
    assert ids(store) == ["a", "b"]


def test_a_collector_that_is_not_there_is_an_error(store: Store, tmp_path: Path) -> None:
    with pytest.raises(LoadError, match="cannot run the collector"):
        load(store, [Path("x")], collector=tmp_path / "none")


def test_the_example_of_the_readme_runs(
    store: Store, collector: Collector, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    readme = Path(__file__).parents[1] / "README.md"
    (example,) = re.findall(r"```python\n(.*?)```", readme.read_text(encoding="utf-8"), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    Path("target/release").mkdir(parents=True)
    collector(written(SUMMARY)).rename("target/release/quiclens-collector")
    names: dict[str, Any] = {"store": store}
    exec(example, names)
    assert names["summary"].events == 2


def test_the_command_line_keeps_paths_that_look_like_options() -> None:
    words = command(Path("quiclens-collector"), [Path("-x")], [Path("a.log"), Path("b.log")])
    assert words == [
        "quiclens-collector",
        "load",
        "--sink",
        "-",
        "--requests",
        "a.log",
        "--requests",
        "b.log",
        "--",
        "-x",
    ]
