"""`quiclens-collector run` against reading the same files once: growth, renames, kill -9, truncation, compression."""

import contextlib
import gzip
import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

COLLECTOR = Path(os.environ.get("QUICLENS_COLLECTOR", "target/release/quiclens-collector"))
VECTORS = Path(__file__).resolve().parents[2] / "schema" / "vectors"

pytestmark = pytest.mark.skipif(not COLLECTOR.is_file(), reason="the collector is not built")

KEYS = {
    "events": ("trace_id", "seq"),
    "streams": ("trace_id", "stream_id"),
    "episodes": ("trace_id", "kind", "stream_id", "first_seq"),
    "connections": ("trace_id",),
    "connection_aliases": ("alias", "trace_id"),
    "request_lines": ("log_id", "offset"),
    "rejects": ("source", "offset"),
}
Rows = dict[tuple[Any, ...], dict[str, Any]]


def records(case: str) -> list[bytes]:
    """A case folder's document as the records of a JSON-SEQ file."""
    document = json.loads((VECTORS / case / "input.qlog").read_text())
    trace = document["traces"][0]
    events = trace.pop("events")
    header = {"qlog_version": "0.3", "qlog_format": "JSON-SEQ", "trace": trace}
    return [b"\x1e" + json.dumps(record).encode() + b"\n" for record in (header, *events)]


class Collector:
    """A collector that follows a folder and writes batches to another."""

    def __init__(self, folder: Path, more: str = "", redacts: bool = False) -> None:
        self.logs, self.out, self.config = folder / "logs", folder / "out", folder / "run.toml"
        self.logs.mkdir(parents=True)
        self.config.write_text(
            f'state_dir = "{folder / "state"}"\ntraces = ["{self.logs}"]\n'
            f"scan_interval_ms = 20\nbatch_interval_ms = 20\nidle_timeout_s = 3\ncpu_cap = 0\n"
            f"redact = {str(redacts).lower()}\n{more}\n"
            f'[sink]\nkind = "files"\nfolder = "{self.out}"\n'
        )
        self.process: subprocess.Popen[bytes] | None = None

    def wait_for(self, idle_timeout_s: int) -> None:
        """Wait so long, not three seconds, for a silent file."""
        config = self.config.read_text()
        self.config.write_text(config.replace("idle_timeout_s = 3", f"idle_timeout_s = {idle_timeout_s}"))

    def start(self) -> None:
        self.process = subprocess.Popen([COLLECTOR, "run", self.config], stderr=subprocess.PIPE)

    def end(self, how: signal.Signals) -> int:
        assert self.process is not None
        self.process.send_signal(how)
        self.process.communicate()
        code, self.process = self.process.returncode, None
        return code

    def rows(self, table: str) -> Rows:
        """The newest row of each key, as the store would show them."""
        newest: Rows = {}
        for file in sorted((self.out / table).glob("*.arrow")):
            for row in pa.ipc.open_stream(file).read_all().to_pylist():
                key = tuple(row.get(column) for column in KEYS[table])
                if key not in newest or row.get("version", 0) >= newest[key].get("version", 0):
                    newest[key] = row
        return newest

    def rejects(self) -> list[dict[str, Any]]:
        """Every reject that was shipped, one that was shipped twice among them."""
        files = sorted((self.out / "rejects").glob("*.arrow"))
        return [row for file in files for row in pa.ipc.open_stream(file).read_all().to_pylist()]

    def wait(self, until: Callable[[], bool], seconds: float = 600) -> None:
        began = time.monotonic()
        while not until():
            assert self.process is None or self.process.poll() is None, "the collector ended"
            assert time.monotonic() - began < seconds, "waited in vain"
            time.sleep(0.05)

    def has_seqs(self, count: int) -> bool:
        return {seq for _, seq in self.rows("events")} == set(range(count))

    def is_complete(self) -> bool:
        rows = self.rows("connections").values()
        return bool(rows) and all(row["complete"] for row in rows)

    def is_complete_or_cut(self) -> bool:
        """The file is over, whole or not."""
        return bool(self.rows("rejects")) and bool(self.rows("connections"))


@pytest.fixture(scope="module", autouse=True)
def time_zones() -> None:
    """The first time that is read loads libraries, for seconds on a busy machine: not while a collector waits."""
    pa.array([datetime.now(UTC)], pa.timestamp("us", "UTC")).to_pylist()


@pytest.fixture
def collector(tmp_path: Path) -> Iterator[Collector]:
    made = Collector(tmp_path / "run")
    yield made
    if made.process is not None:
        made.end(signal.SIGKILL)


def read_once(tmp_path: Path, content: bytes) -> dict[str, Rows]:
    """What a collector makes of a file that was whole before it started."""
    whole = Collector(tmp_path / "once")
    (whole.logs / "trace.sqlog").write_bytes(content)
    whole.start()
    whole.wait(whole.is_complete)
    assert whole.end(signal.SIGTERM) == 0
    return {table: whole.rows(table) for table in KEYS}


def without_names(rows: Rows) -> Rows:
    """Rows but for the file's name, and for columns without a value, which a batch may leave out."""
    return {
        key: {name: value for name, value in row.items() if name not in ("source_file", "file") and value}
        for key, row in rows.items()
    }


def same(found: Collector, wanted: dict[str, Rows]) -> None:
    for table in KEYS:
        assert without_names(found.rows(table)) == without_names(wanted[table]), table


def test_a_growing_file_is_seen_before_it_is_over(collector: Collector) -> None:
    lines = records("aioquic_burst_loss_server")
    collector.wait_for(idle_timeout_s=600)
    collector.start()
    path = collector.logs / "trace.sqlog"

    def has_first(count: int) -> bool:
        rows = collector.rows("events").values()
        return {row["seq"] for row in rows if row["connection_id"] != "after"} == set(range(count))

    with path.open("wb", buffering=0) as file:
        file.write(b"".join(lines[:200]))
        collector.wait(lambda: collector.has_seqs(199))
        collector.wait(lambda: bool(collector.rows("connections")))  # an open connection has a row
        assert not collector.is_complete()
        file.write(lines[200][:40])  # half a record
        happened_after(collector)
        assert has_first(199) and not collector.rows("rejects")
        file.write(lines[200][40:] + b"".join(lines[201:]))
        collector.wait(lambda: has_first(len(lines) - 1))
        path.unlink()  # it is over
    collector.wait(lambda: any(complete(collector)))


def happened_after(collector: Collector) -> None:
    """Return when what is written to another file now is shown: what was written before it has had its turn."""
    with (collector.logs / "after.log").open("ab") as file:
        first = sum(row["connection_id"] == "after" for row in collector.rows("events").values())
        # So many that it is decided at once what they are.
        file.write(b"".join(line("after", seq) for seq in range(first, first + 100)))
    collector.wait(
        lambda: sum(row["connection_id"] == "after" for row in collector.rows("events").values()) == first + 100
    )


def test_kills_at_any_moment_lose_and_double_nothing(collector: Collector, tmp_path: Path) -> None:
    lines = records("aioquic_burst_loss_server")
    step = len(lines) // 8
    for begin in range(0, len(lines), step):
        collector.start()
        with (collector.logs / "trace.sqlog").open("ab") as file:
            file.write(b"".join(lines[begin : begin + step]))
        time.sleep(0.05 + 0.03 * (begin // step % 3))
        collector.end(signal.SIGKILL)
    collector.start()
    collector.wait(collector.is_complete)
    assert collector.end(signal.SIGTERM) == 0
    same(collector, read_once(tmp_path, b"".join(lines)))


def half_followed(collector: Collector, lines: list[bytes]) -> Path:
    """The growing log of a running collector that has put away the first 150 records."""
    collector.start()
    path = collector.logs / "trace.sqlog"
    path.write_bytes(b"".join(lines[:150]))
    collector.wait(lambda: collector.has_seqs(149))
    return path


def damage_connection(collector: Collector) -> None:
    """Flips a bit in the state of the last connection: a cycle is connections, the head, an end (`journal.rs`)."""
    checkpoints = collector.config.parent / "state" / "checkpoints"
    content = bytearray(checkpoints.read_bytes())
    *_, connection, head, _ = (found.start() for found in re.finditer(rb"\xf5QL\x1e", content))
    content[(connection + head) // 2] ^= 0x10
    checkpoints.write_bytes(content)


def test_a_stop_puts_everything_away(collector: Collector, tmp_path: Path) -> None:
    lines = records("aioquic_tail_loss_server")
    path = half_followed(collector, lines)
    assert collector.end(signal.SIGTERM) == 0
    path.rename(collector.logs / "renamed.sqlog")
    with (collector.logs / "renamed.sqlog").open("ab") as file:
        file.write(b"".join(lines[150:]))
    collector.start()
    collector.wait(collector.is_complete)
    first = {name: len(pa.ipc.open_stream(name).read_all()) for name in (collector.out / "events").glob("*.arrow")}
    assert sum(first.values()) == len(lines) - 1, "no event was shipped twice"
    assert collector.end(signal.SIGTERM) == 0
    same(collector, read_once(tmp_path, b"".join(lines)))


def test_a_stop_does_not_wait_for_a_sink_that_is_away(collector: Collector, tmp_path: Path) -> None:
    lines = records("aioquic_tail_loss_server")
    (collector.logs / "one.sqlog").write_bytes(b"".join(lines))
    there = collector.config.read_text()
    away = (
        there.partition("[sink]")[0] + 'stop_timeout_s = 1\n[sink]\nkind = "clickhouse"\nurl = "http://127.0.0.1:9"\n'
    )
    collector.config.write_text(away)
    collector.start()
    collector.wait(lambda: b"trying again" in said(collector))  # it is read, and not taken
    began = time.monotonic()
    assert collector.end(signal.SIGTERM) == 0
    assert time.monotonic() - began < 300, "it waited for the sink"
    collector.config.write_text(there)
    collector.start()
    collector.wait(lambda: collector.has_seqs(len(lines) - 1) and collector.is_complete())
    collector.end(signal.SIGTERM)
    same(collector, read_once(tmp_path, b"".join(lines)))


def test_a_flipped_byte_in_the_checkpoints_costs_a_second_reading(collector: Collector, tmp_path: Path) -> None:
    lines = records("aioquic_tail_loss_server")
    path = half_followed(collector, lines)
    collector.end(signal.SIGTERM)
    damage_connection(collector)
    path.write_bytes(b"".join(lines))
    collector.start()
    collector.wait(collector.is_complete)
    assert collector.end(signal.SIGTERM) == 0
    same(collector, read_once(tmp_path, b"".join(lines)))


def test_a_deleted_file_is_read_to_its_end(collector: Collector) -> None:
    lines = records("aioquic_clean_server")
    collector.start()
    path = collector.logs / "trace.sqlog"
    with path.open("wb", buffering=0) as file:
        file.write(b"".join(lines[:100]))
        collector.wait(lambda: collector.has_seqs(99))
        path.unlink()
        file.write(b"".join(lines[100:]))
    collector.wait(lambda: collector.has_seqs(len(lines) - 1))
    collector.wait(collector.is_complete)


def test_copy_truncate_goes_on_with_what_is_written_after_it(collector: Collector) -> None:
    collector.start()
    path = collector.logs / "trace.sqlog"
    first = records("aioquic_clean_server")
    second = (VECTORS / "quinn_proto_0_11" / "input.sqlog").read_bytes()
    path.write_bytes(b"".join(first))
    collector.wait(lambda: collector.has_seqs(len(first) - 1))
    with path.open("r+b") as file:
        file.truncate(0)
        file.write(second)
    collector.wait(lambda: len(collector.rows("events")) == len(first) - 1 + second.count(b"\n") - 1)
    collector.wait(lambda: len(collector.rows("connections")) == 2 and any(complete(collector)))
    # More may have been written to the first one between the last look at it and the cut.
    assert sorted(complete(collector)) == [False, True]


def complete(collector: Collector) -> list[bool]:
    return [bool(row["complete"]) for row in collector.rows("connections").values()]


def test_a_file_that_outgrew_itself_after_it_was_cut_unseen_is_read_from_its_start(collector: Collector) -> None:
    collector.start()
    path = collector.logs / "trace.sqlog"
    first = records("aioquic_clean_server")[:40]
    second = [line.replace(b"49a8327814782dc7", b"49a8327814782dc8") for line in records("aioquic_think_server")]
    path.write_bytes(b"".join(first))
    collector.wait(lambda: collector.has_seqs(len(first) - 1))
    assert collector.process is not None
    collector.process.send_signal(signal.SIGSTOP)
    path.write_bytes(b"".join(second))  # cut and written again, longer than it was before anybody looked
    assert path.stat().st_size > len(b"".join(first))
    collector.process.send_signal(signal.SIGCONT)
    collector.wait(lambda: len(collector.rows("events")) == len(first) - 1 + len(second) - 1)


def test_what_is_cut_in_the_reader_s_hand_is_a_reject_and_no_event(collector: Collector) -> None:
    collector.start()
    with (collector.logs / "lines.log").open("ab", buffering=0) as file:
        file.write(b"".join(line("c1", seq) for seq in range(100)) + b"c1\t100\t10\tpacket_recvd\t4, 3")
        collector.wait(lambda: collector.has_seqs(100))  # half of the last record is read with them, not yet taken
        file.truncate(0)
        collector.wait(collector.is_complete_or_cut)
    assert collector.has_seqs(100)
    (reject,) = collector.rows("rejects").values()
    assert (reject["reason"], reject["seq"]) == ("truncated", 100)


def test_a_connection_whose_records_wait_to_be_read_is_not_over(collector: Collector) -> None:
    def rows(connection: str, first: int, last: int) -> bytes:
        return b"".join(
            f"{connection}\t{seq}\t{10 * seq}\tpacket_recvd\t{seq}, 300\n".encode() for seq in range(first, last)
        )

    collector.start()
    assert collector.process is not None
    with (collector.logs / "lines.log").open("ab", buffering=0) as file:
        file.write(rows("c1", 0, 100) + rows("c2", 0, 1))
        collector.wait(lambda: len(collector.rows("events")) == 101)
        collector.process.send_signal(signal.SIGSTOP)
        file.write(rows("c2", 1, 80_000) + rows("c1", 100, 110))
        time.sleep(3)  # longer than idle_timeout_s
        collector.process.send_signal(signal.SIGCONT)
        collector.wait(lambda: len(collector.rows("events")) == 80_110)
    assert {key[0] for key in collector.rows("events")} == {key[0] for key in collector.rows("connections")}
    assert len(collector.rows("connections")) == 2


def test_documents_and_compressed_files_are_read_when_they_are_over(collector: Collector) -> None:
    collector.start()
    (collector.logs / "one.qlog").write_bytes((VECTORS / "aioquic_clean_server" / "input.qlog").read_bytes())
    lines = records("aioquic_think_server")
    (collector.logs / "two.sqlog.gz").write_bytes(gzip.compress(b"".join(lines)))
    collector.wait(lambda: len(collector.rows("connections")) == 2 and collector.is_complete())


@pytest.mark.parametrize("kind", ["gzip", "document"])
def test_what_is_written_bit_by_bit_is_read_once_when_it_has_its_end(collector: Collector, kind: str) -> None:
    collector.wait_for(idle_timeout_s=60)
    whole = (VECTORS / "aioquic_clean_server" / "input.qlog").read_bytes()
    whole = gzip.compress(whole) if kind == "gzip" else whole
    collector.start()
    with (collector.logs / "log").open("wb", buffering=0) as file:
        file.write(whole[: len(whole) // 2])
        time.sleep(3)  # longer than what has its end is waited for
        assert not collector.rows("connections")
        file.write(whole[len(whole) // 2 :])
    collector.wait(lambda: bool(collector.rows("connections")) and collector.is_complete())
    assert not collector.rows("rejects")


def test_what_is_no_file_is_counted_once_and_stops_nothing(collector: Collector) -> None:
    lines = records("aioquic_clean_server")
    os.mkfifo(collector.logs / "a_pipe")
    (collector.logs / "b_device").symlink_to("/dev/zero")
    (collector.logs / "c_loop").symlink_to(".")
    with (collector.logs / "trace.sqlog").open("wb", buffering=0) as file:
        file.write(b"".join(lines))
        collector.start()
        collector.wait(collector.is_complete)
    os.mkfifo(collector.logs / "d_late_pipe")
    header = lines[0].replace(b'"JSON-SEQ"', b'"JSON-SEQ", "title": "another"')
    (collector.logs / "next.sqlog").write_bytes(b"".join([header, *lines[1:]]))
    collector.wait(lambda: len(collector.rows("connections")) == 2 and len(collector.rejects()) == 4)
    assert {(Path(row["file"]).name, row["reason"]) for row in collector.rejects()} == {
        (name, "not_a_file") for name in ("a_pipe", "b_device", "c_loop", "d_late_pipe")
    }
    assert collector.end(signal.SIGTERM) == 0


@pytest.mark.parametrize("how", ["deleted", "moved", "replaced"])
def test_a_document_that_loses_its_name_is_read_to_its_end(collector: Collector, tmp_path: Path, how: str) -> None:
    document = (VECTORS / "aioquic_clean_server" / "input.qlog").read_bytes()
    path = collector.logs / "current.qlog"
    collector.start()
    with path.open("wb", buffering=0) as file:
        file.write(document)
        collector.wait(lambda: is_open_in(collector, path))
        if how == "deleted":
            path.unlink()
        else:
            path.rename(tmp_path / "archive.qlog")
        if how == "replaced":
            path.write_bytes(document.replace(b"server", b"client"))
    collector.wait(lambda: len(collector.rows("connections")) == (2 if how == "replaced" else 1))
    collector.wait(collector.is_complete)
    count = len(json.loads(document)["traces"][0]["events"])
    for (trace,) in collector.rows("connections"):
        assert {seq for name, seq in collector.rows("events") if name == trace} == set(range(count))
    assert not collector.rows("rejects")


def is_open_in(collector: Collector, path: Path) -> bool:
    """The collector holds the file open."""
    assert collector.process is not None
    for held in Path(f"/proc/{collector.process.pid}/fd").iterdir():
        try:
            if held.samefile(path):
                return True
        except FileNotFoundError:
            continue
    return False


def test_a_reused_inode_of_the_same_size_is_another_file(collector: Collector, tmp_path: Path) -> None:
    lines = records("aioquic_clean_server")
    one, other = (b"".join(_named(lines, name)) for name in ("aaaa000000000001", "bbbb000000000002"))
    assert len(one) == len(other)
    path = collector.logs / "trace.sqlog"
    path.write_bytes(one)
    inode = path.stat().st_ino
    collector.start()
    collector.wait(collector.is_complete)
    # What ext4 does with the next file is done here by hand: the same inode, the same size.
    with path.open("r+b") as file:
        file.write(other)
    path.rename(collector.logs / "next.sqlog")
    assert (collector.logs / "next.sqlog").stat().st_ino == inode
    collector.wait(lambda: len(collector.rows("connections")) == 2, seconds=40)


def _named(lines: list[bytes], name: str) -> list[bytes]:
    header = json.loads(lines[0][1:])
    header["trace"]["common_fields"] = {"ODCID": name}
    return [b"\x1e" + json.dumps(header).encode() + b"\n", *lines[1:]]


def test_a_hang_up_is_no_end(collector: Collector) -> None:
    lines = records("aioquic_clean_server")
    (collector.logs / "trace.sqlog").write_bytes(b"".join(lines))
    collector.start()
    collector.wait(lambda: bool(collector.rows("events")))
    assert collector.process is not None
    collector.process.send_signal(signal.SIGHUP)
    collector.wait(collector.is_complete)
    assert collector.end(signal.SIGTERM) == 0


@pytest.mark.parametrize("is_kept", [True, False])
def test_an_access_log_that_was_rotated_while_nobody_looked(tmp_path: Path, is_kept: bool) -> None:
    log = tmp_path / "run" / "logs" / "access.log"
    folder = tmp_path / "run"
    collector = Collector(folder, f'[[access_log]]\npath = "{log}"')
    text = collector.config.read_text()
    collector.config.write_text(text.replace(f'traces = ["{collector.logs}"]\n', ""))
    row = '{{"time": "2026-11-21T10:00:00Z", "path": "{}"}}\n'
    log.write_text(row.format("/first"))
    collector.start()
    try:
        collector.wait(lambda: len(collector.rows("request_lines")) == 1)
        assert collector.end(signal.SIGTERM) == 0
        with log.open("a") as file:
            file.write(row.format("/while_down"))
        log.rename(log.with_name("access.log.1"))
        if not is_kept:
            log.with_name("access.log.1").unlink()
        log.write_text(row.format("/second"))
        collector.start()
        wanted = {"/first", "/second"} | ({"/while_down"} if is_kept else set())
        collector.wait(lambda: {each["path"] for each in collector.rows("request_lines").values()} == wanted)
        if is_kept:
            assert not collector.rejects()
        else:
            collector.wait(lambda: [each["reason"] for each in collector.rejects()] == ["source_lost"])
    finally:
        collector.end(signal.SIGKILL)


def test_a_full_disk_is_waited_for(tmp_path: Path) -> None:
    collector = Collector(tmp_path / "run")
    state = tmp_path / "run" / "state"
    state.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", state], capture_output=True).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        lines = records("aioquic_clean_server")
        (collector.logs / "first.sqlog").write_bytes(b"".join(lines))
        collector.start()
        collector.wait(lambda: (state / "checkpoints").is_file() and collector.is_complete())
        filled = state / "filled"
        full = os.open(filled, os.O_WRONLY | os.O_CREAT)
        with contextlib.suppress(OSError):
            while True:
                os.write(full, bytes(4096))
        os.close(full)
        names = [f"aaaa00000000000{n}" for n in range(5)]
        for name in names:
            (collector.logs / f"{name}.sqlog").write_bytes(b"".join(_named(lines, name)))
        collector.wait(lambda: b"No space left" in said(collector))
        filled.unlink()
        collector.wait(lambda: len(collector.rows("connections")) == 6 and collector.is_complete())
        assert len(collector.rows("events")) == 6 * (len(lines) - 1)
        assert collector.end(signal.SIGTERM) == 0
    finally:
        if collector.process is not None:
            collector.end(signal.SIGKILL)
        subprocess.run(["umount", state], check=True)


def said(collector: Collector) -> bytes:
    """What stands on its standard error by now."""
    assert collector.process is not None
    assert collector.process.stderr is not None
    os.set_blocking(collector.process.stderr.fileno(), False)
    return collector.process.stderr.read() or b""


def test_access_logs_grow_too(tmp_path: Path) -> None:
    log = tmp_path / "access.jsonl"
    collector = Collector(tmp_path / "run", more=f'[[access_log]]\npath = "{log}"')
    lines = [json.dumps({"time": f"2026-11-20T10:00:0{n}Z", "path": f"/{n}"}) + "\n" for n in range(6)]
    log.write_text("".join(lines[:3]))
    collector.start()
    try:
        collector.wait(lambda: len(collector.rows("request_lines")) == 3)
        with log.open("a") as file:
            file.write("".join(lines[3:]) + "no json\n")
        collector.wait(lambda: len(collector.rows("request_lines")) == 6 and len(collector.rows("rejects")) == 1)
        assert collector.end(signal.SIGTERM) == 0
        shipped = len(list((collector.out / "request_lines").glob("*.arrow")))
        collector.start()
        happened_after(collector)
        collector.end(signal.SIGTERM)
        assert len(list((collector.out / "request_lines").glob("*.arrow"))) == shipped <= 3
    finally:
        if collector.process is not None:
            collector.end(signal.SIGKILL)


def line(connection: str, seq: int, name: str = "packet_sent", value: str = "") -> bytes:
    """A row of quiclens line v1; the first of a connection is its clock."""
    if seq == 0:
        name, value = "clock_anchor", "1790000000000000, host, 1, server"
    return f"{connection}\t{seq}\t{seq * 1000}\t{name}\t{value}\n".encode()


def test_compressed_access_logs_are_read_when_they_are_over(tmp_path: Path) -> None:
    logs = tmp_path / "access"
    logs.mkdir()
    collector = Collector(tmp_path / "run", more=f'[[access_log]]\npath = "{logs}"')
    lines = [json.dumps({"time": f"2026-11-20T10:00:0{n}Z", "path": f"/{n}"}) + "\n" for n in range(6)]
    (logs / "access.jsonl.1.gz").write_bytes(gzip.compress("".join(lines).encode()))
    collector.start()
    try:
        collector.wait(lambda: len(collector.rows("request_lines")) == 6)
        assert not collector.rows("rejects")
    finally:
        collector.end(signal.SIGKILL)


def test_connections_of_a_shared_file_end_one_by_one(collector: Collector) -> None:
    collector.wait_for(idle_timeout_s=15)
    collector.start()
    path = collector.logs / "shared.log"

    def complete_ones() -> dict[str, bool]:
        return {row["connection_id"]: row["complete"] for row in collector.rows("connections").values()}

    with path.open("ab", buffering=0) as file:
        file.write(b"".join(line(name, seq) for name in ("aa", "bb") for seq in range(40)))
        numbers = iter(range(40, 1 << 30))

        def aa_is_over() -> bool:
            file.write(line("bb", next(numbers)))  # bb goes on, aa has said its last
            return complete_ones().get("aa", False)

        collector.wait(aa_is_over)
        assert complete_ones() == {"aa": True, "bb": False}
        file.write(line("aa", 0).replace(b"\t1790", b"\t1791") + line("aa", 1))  # another connection by the same name
        collector.wait(lambda: len(collector.rows("connections")) == 3)


@pytest.mark.parametrize("header", [b"", b'\x1e{"qlog_version": "0.3", "qlog_format": "JSON-SEQ", "trace": {}}\n'])
def test_what_a_new_file_begins_with_is_heard_of_when_it_is_read(collector: Collector, header: bytes) -> None:
    """A collector that has run for longer than `idle_timeout_s` gives a new file's connections all of that time."""

    def record(connection: str, seq: int) -> bytes:
        if not header:
            return line(connection, seq)
        event = {"time": seq, "name": "transport:packet_sent", "data": {}, "group_id": connection}
        return b"\x1e" + json.dumps(event).encode() + b"\n"

    def shown(table: str) -> int:
        return sum(row["connection_id"] in ("aa", "bb") for row in collector.rows(table).values())

    collector.wait_for(idle_timeout_s=10)
    (collector.logs / "before.log").write_bytes(line("before", 0))
    collector.start()
    collector.wait(collector.is_complete)  # it has run for so long
    with (collector.logs / "shared.log").open("ab", buffering=0) as file:
        file.write(header + b"".join(record(name, seq) for name in ("aa", "bb") for seq in range(40)))
        collector.wait(lambda: shown("events") == 80)
        happened_after(collector)  # another turn: what is over would be by now
        file.write(record("aa", 40) + record("bb", 40))
        collector.wait(lambda: shown("events") == 82)
    assert collector.end(signal.SIGTERM) == 0
    assert shown("connections") == 2


def test_half_a_record_at_the_end_is_of_the_connection_that_wrote_it(collector: Collector) -> None:
    """Nothing tells whose it is before it is whole or the file is over, so no connection ends while it stands there."""
    path = collector.logs / "shared.log"
    path.write_bytes(b"".join(line(each, seq) for seq in range(40) for each in ("aa01", "bb02")))
    with path.open("ab") as file:
        file.write(line("aa01", 40).removesuffix(b"\n"))
    collector.start()
    collector.wait(lambda: len(collector.rows("events")) == 81 and collector.is_complete())
    assert collector.end(signal.SIGTERM) == 0
    connections = collector.rows("connections").values()
    assert sorted((row["connection_id"], row["events_seen"]) for row in connections) == [("aa01", 41), ("bb02", 40)]


def test_a_kill_takes_up_each_connection_of_a_shared_file(collector: Collector, tmp_path: Path) -> None:
    lines = [line(f"{name:02x}", seq) for seq in range(60) for name in range(8)]
    path = collector.logs / "shared.log"
    collector.wait_for(idle_timeout_s=8)
    for begin in range(0, len(lines), 120):
        collector.start()
        with path.open("ab") as file:
            file.write(b"".join(lines[begin : begin + 120])[:-7])
            file.flush()
            time.sleep(1.2)
            file.write(b"".join(lines[begin : begin + 120])[-7:])
        collector.end(signal.SIGKILL)
    collector.start()
    collector.wait(collector.is_complete)
    assert collector.end(signal.SIGTERM) == 0
    same(collector, read_once(tmp_path, b"".join(lines)))


def test_a_state_that_was_damaged_and_whose_file_is_gone_is_counted(collector: Collector) -> None:
    path = half_followed(collector, records("aioquic_tail_loss_server"))
    collector.end(signal.SIGTERM)
    damage_connection(collector)
    path.unlink()
    collector.start()
    collector.wait(lambda: [row["reason"] for row in collector.rows("rejects").values()] == ["source_lost"])


def test_a_file_that_is_gone_when_the_collector_comes_back_ends_as_it_was_read(collector: Collector) -> None:
    path = half_followed(collector, records("aioquic_tail_loss_server"))
    assert collector.end(signal.SIGTERM) == 0
    path.unlink()
    before = collector.rows("streams")
    collector.start()
    collector.wait(lambda: collector.rows("streams").keys() > before.keys())
    assert not collector.rows("rejects") and collector.has_seqs(149)


def test_a_writer_that_dies_in_mid_record_leaves_one_reject(collector: Collector) -> None:
    lines = records("aioquic_clean_server")
    collector.start()
    (collector.logs / "trace.sqlog").write_bytes(b"".join(lines[:100]) + lines[100][:30])
    collector.wait(collector.is_complete_or_cut)
    assert collector.has_seqs(99)
    assert [row["reason"] for row in collector.rows("rejects").values()] == ["truncated"]


def test_a_clock_that_jumps_backwards_loses_nothing(collector: Collector, tmp_path: Path) -> None:
    lines = [line("aa", seq) for seq in range(100)]
    lines[50:] = [
        row.replace(f"\t{seq * 1000}\t".encode(), f"\t{seq}\t".encode(), 1) for seq, row in enumerate(lines[50:], 50)
    ]
    collector.start()
    path = collector.logs / "shared.log"
    with path.open("ab", buffering=0) as file:
        for begin in range(0, 100, 10):
            file.write(b"".join(lines[begin : begin + 10]))
            time.sleep(0.05)
    collector.wait(collector.is_complete)
    assert collector.has_seqs(100)
    assert min(row["time_us"] for row in collector.rows("events").values()) == 0
    assert collector.end(signal.SIGTERM) == 0
    same(collector, read_once(tmp_path, b"".join(lines)))


def test_two_files_that_claim_one_connection_are_two_traces(collector: Collector) -> None:
    collector.start()
    lines = records("aioquic_clean_server")
    (collector.logs / "one.sqlog").write_bytes(b"".join(lines))
    (collector.logs / "two.sqlog").write_bytes(b"".join([lines[0], *lines[2:]]))
    collector.wait(lambda: len(collector.rows("connections")) == 2 and collector.is_complete())
    assert len({row["connection_id"] for row in collector.rows("connections").values()}) == 1
    assert len(collector.rows("events")) == 2 * len(lines) - 3


def test_an_access_log_line_of_many_megabytes_is_one_reject(tmp_path: Path) -> None:
    log = tmp_path / "access.jsonl"
    collector = Collector(tmp_path / "run", more=f'[[access_log]]\npath = "{log}"')
    good = json.dumps({"time": "2026-11-20T10:00:00Z", "path": "/"}).encode() + b"\n"
    collector.start()
    try:
        with log.open("ab", buffering=0) as file:
            file.write(good)
            for _ in range(6):
                file.write(b"x" * (1 << 20))
                time.sleep(0.1)
            file.write(b"\n" + good)
        collector.wait(lambda: len(collector.rows("request_lines")) == 2 and bool(collector.rows("rejects")))
        assert [row["length"] for row in collector.rows("rejects").values()] == [6 << 20]
    finally:
        collector.end(signal.SIGKILL)


@pytest.mark.parametrize("watch", ["auto", "poll"])
def test_what_grows_is_seen_soon(tmp_path: Path, watch: str) -> None:
    collector = Collector(tmp_path / "run", more=f'watch = "{watch}"')
    below = collector.logs / "a" / "b"
    collector.start()
    try:
        below.mkdir(parents=True)
        lines = records("aioquic_clean_server")
        pieces = [lines[:100], *([each] for each in lines[100:140])]
        name, began = below / "draft.partial", time.monotonic()
        for number, piece in enumerate(pieces):
            if number == len(pieces) // 2:
                name = name.rename(below / "done.sqlog")
            with name.open("ab") as file:
                file.write(b"".join(piece))
            seqs = 99 + number  # the first record is the header
            collector.wait(lambda seqs=seqs: collector.has_seqs(seqs))  # type: ignore[misc]
        # Were each seen only by what looks through everything, every 15 seconds, that would take ten minutes.
        assert time.monotonic() - began < 300
    finally:
        collector.end(signal.SIGKILL)


def test_wrong_configurations_say_what_to_change(tmp_path: Path) -> None:
    config = tmp_path / "run.toml"
    for text, says in (
        ("", "state_dir"),
        ('state_dir = "s"\n[sink]\nkind = "files"\nfolder = "o"\n', "nothing to follow"),
        ('state_dir = "s"\ntraces = ["l"]\nspeed = 1\n[sink]\nkind = "files"\nfolder = "o"\n', "speed"),
    ):
        config.write_text(text)
        done = subprocess.run([COLLECTOR, "check", config], capture_output=True, text=True, check=False)
        assert done.returncode != 0 and says in done.stderr
    config.write_text('state_dir = "s"\ntraces = ["l"]\n[sink]\nkind = "files"\nfolder = "o"\n')
    done = subprocess.run([COLLECTOR, "check", config], capture_output=True, text=True, check=True)
    assert "idle_timeout_s = 600" in done.stdout
