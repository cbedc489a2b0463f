"""`quiclens-collector run` on sources that cannot be read again: sockets, standard input, the raw topic, the spool."""

import os
import resource
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from quiclens_ingest import kafka
from test_follow import COLLECTOR, Collector, without_names

pytestmark = pytest.mark.skipif(not COLLECTOR.is_file(), reason="the collector is not built")

Send = Callable[[bytes], Any]


def lines(connection: str, first: int, last: int) -> list[bytes]:
    """Records `first` to `last` - 1 of one connection."""
    rows = [f"{connection}\t0\t1000\tclock_anchor\t1795168800000000, edge-1, 77, server"]
    rows += [f"{connection}\t{seq}\t{1000 + 10 * seq}\tpacket_recvd\t{seq}, 1200" for seq in range(1, last)]
    return [row.encode() + b"\n" for row in rows[first:last]]


class Listening(Collector):
    """A collector that follows no files."""

    def __init__(self, folder: Path, listen: str, spool: str = "", extra: str = "") -> None:
        super().__init__(folder)
        self.state = folder / "state"
        self.clients: list[socket.socket] = []
        self.config.write_text(
            f'state_dir = "{self.state}"\ncpu_cap = 0\nredact = false\n'
            f"scan_interval_ms = 20\nbatch_interval_ms = 20\n{extra}\n"
            f'[[listen]]\n{listen}\n[spool]\n{spool}\n[sink]\nkind = "files"\nfolder = "{self.out}"\n'
        )

    def start(self, stdin: int | None = None) -> None:
        with (self.config.parent / "said").open("ab") as said:
            self.process = subprocess.Popen([COLLECTOR, "run", self.config], stderr=said, stdin=stdin)

    def connect(self, address: Any, family: int = socket.AF_UNIX, kind: int = socket.SOCK_STREAM) -> socket.socket:
        """A peer, as soon as somebody listens there."""
        until = time.monotonic() + 300
        while True:
            client = socket.socket(family, kind)
            self.clients.append(client)
            try:
                client.connect(address if family == socket.AF_INET else str(address))
            except OSError:
                assert time.monotonic() < until, "nobody listens"
                time.sleep(0.02)
                continue
            client.settimeout(300)
            return client

    def seqs(self, connection: str = "c1") -> list[int]:
        """Every seq of a connection that the sink has, as often as it is there under another identity."""
        return sorted(row["seq"] for row in self.rows("events").values() if row["connection_id"] == connection)

    def has(self, connection: str, count: int) -> bool:
        return self.seqs(connection) == list(range(count))

    def spool_bytes(self) -> int:
        return sum(file.stat().st_size for file in (self.state / "spool").glob("*.spool"))

    def content(self) -> dict[str, Any]:
        """All rows but how complete they are: a socket has no end."""
        tables = ("events", "streams", "episodes", "connections")
        return {table: without_names(self.rows(table)) for table in tables}


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Callable[..., Listening]]:
    collectors: list[Listening] = []

    def make(listen: str, **more: str) -> Listening:
        collectors.append(Listening(tmp_path / f"run{len(collectors)}", listen, **more))
        return collectors[-1]

    yield make
    for one in collectors:
        for client in one.clients:
            client.close()
        if one.process is not None:
            one.end(signal.SIGKILL)


def acknowledged(client: socket.socket) -> None:
    """Say that all is sent, and wait until the collector says that all is synced."""
    client.shutdown(socket.SHUT_WR)
    assert client.recv(100) == b"synced\n"
    client.close()


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def is_bound(port: int) -> bool:
    """Somebody has that UDP port of 127.0.0.1."""
    rows = Path("/proc/net/udp").read_text().splitlines()[1:]
    return any(row.split()[1] == f"0100007F:{port:04X}" for row in rows)


@pytest.mark.parametrize("kind", ["unix_datagram", "unix_stream", "udp"])
def test_lines_come_through_each_socket(made: Callable[..., Listening], tmp_path: Path, kind: str) -> None:
    path, port = tmp_path / "s", free_port()
    where = f'address = "127.0.0.1:{port}"' if kind == "udp" else f'path = "{path}"'
    collector = made(f'kind = "{kind}"\n{where}')
    collector.start()
    if kind == "udp":
        collector.wait(lambda: is_bound(port))
        client = collector.connect(("127.0.0.1", port), socket.AF_INET, socket.SOCK_DGRAM)
    else:
        how = socket.SOCK_STREAM if kind == "unix_stream" else socket.SOCK_DGRAM
        client = collector.connect(path, kind=how)
    some = lines("c1", 0, 5) + lines("c2", 0, 300)
    for begin in range(0, len(some), 7):
        client.sendall(b"".join(some[begin : begin + 7]).removesuffix(b"\n" if kind != "unix_stream" else b""))
    client.sendall(b"not a row\n\xff\t1\t2\n")
    collector.wait(lambda: collector.has("c1", 5) and collector.has("c2", 300))
    collector.wait(lambda: len(collector.rows("rejects")) == 2)
    reasons = sorted(row["reason"] for row in collector.rows("rejects").values())
    assert reasons == ["invalid_utf8", "not_a_record"]
    assert collector.end(signal.SIGTERM) == 0
    collector.start()  # the socket that was left behind is taken away
    if kind == "udp":
        collector.wait(lambda: is_bound(port))
    else:
        collector.connect(path, kind=how)
    assert collector.end(signal.SIGTERM) == 0


def test_half_and_long_lines_of_a_stream_are_counted(made: Callable[..., Listening], tmp_path: Path) -> None:
    collector = made(f'kind = "unix_stream"\npath = "{tmp_path / "s"}"\nmax_connections = 2')
    collector.start()
    client = collector.connect(tmp_path / "s")
    first = lines("c1", 0, 20)
    client.sendall(b"".join(first[:10]) + b"x" * 100_000 + b"\n" + b"".join(first[10:]) + b"c1\t20\t12")
    acknowledged(client)
    collector.wait(lambda: collector.has("c1", 20))
    collector.wait(lambda: len(collector.rows("rejects")) == 2)
    found = {row["reason"]: row for row in collector.rows("rejects").values()}
    assert found["too_long"]["length"] == 100_000 and len(found["too_long"]["bytes"]) == 65_536
    assert found["truncated"]["bytes"] == b"c1\t20\t12"
    assert found["truncated"]["file"] == f"unix_stream:{tmp_path / 's'}"
    peers = [collector.connect(tmp_path / "s") for _ in range(2)]
    for number, peer in enumerate(peers):
        peer.sendall(b"".join(lines(f"p{number}", 0, 2)))
    collector.wait(lambda: collector.has("p0", 2) and collector.has("p1", 2))  # both were let in
    more = collector.connect(tmp_path / "s")
    assert more.recv(1) == b""  # turned away
    for peer in [*peers, more]:
        peer.close()


def test_a_datagram_beyond_the_limit_is_passed_over(made: Callable[..., Listening], tmp_path: Path) -> None:
    limit = 256 << 10
    collector = made(f'kind = "unix_datagram"\npath = "{tmp_path / "s"}"')
    collector.start()
    client = collector.connect(tmp_path / "s", kind=socket.SOCK_DGRAM)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 * limit)
    if client.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) < limit + 10_000:
        pytest.skip("this kernel gives a socket less room than the limit")
    some = lines("c1", 0, 10_000)
    kept = next(count for count in range(len(some)) if sum(map(len, some[: count + 1])) > limit)
    client.sendall(b"".join(some[:kept]))
    client.sendall(b"".join(some[kept:]).ljust(limit + 1, b"\n"))
    collector.wait(lambda: collector.has("c1", kept) and len(collector.rows("rejects")) == 1)
    (reject,) = collector.rows("rejects").values()
    assert (reject["reason"], reject["length"], len(reject["bytes"])) == ("too_long", limit + 1, 65_536)


def test_kills_lose_nothing_that_was_acknowledged(made: Callable[..., Listening], tmp_path: Path) -> None:
    path = str(tmp_path / "s")
    collector = made(f'kind = "unix_stream"\npath = "{path}"')
    step, steps = 700, 8
    for turn in range(steps):
        collector.start()
        client = collector.connect(tmp_path / "s")
        client.sendall(b"".join(lines("c1", turn * step, (turn + 1) * step)))
        client.sendall(b"".join(lines("c2", turn * 10, (turn + 1) * 10)))
        acknowledged(client)
        time.sleep(0.04 * (turn % 4))
        collector.end(signal.SIGKILL)
    collector.start()
    collector.wait(lambda: collector.has("c1", step * steps) and collector.has("c2", 10 * steps))
    assert collector.end(signal.SIGTERM) == 0
    assert len(collector.rows("connections")) == 2 and not collector.rows("rejects")
    once = made(f'kind = "unix_stream"\npath = "{path}"')
    once.start()
    client = once.connect(path)
    for turn in range(steps):
        client.sendall(b"".join(lines("c1", turn * step, (turn + 1) * step)))
        client.sendall(b"".join(lines("c2", turn * 10, (turn + 1) * 10)))
    acknowledged(client)
    once.wait(lambda: once.has("c1", step * steps) and once.has("c2", 10 * steps))
    assert once.end(signal.SIGTERM) == 0
    assert collector.content() == once.content()


def test_standard_input_ends_the_run(made: Callable[..., Listening]) -> None:
    collector = made('kind = "stdin"')
    text = b"".join(lines("c1", 0, 3000) + lines("c2", 0, 3))
    done = subprocess.run([COLLECTOR, "run", collector.config], input=text, capture_output=True, timeout=60, check=True)
    assert b"following 1 places" in done.stderr
    assert collector.has("c1", 3000) and collector.has("c2", 3) and collector.is_complete()


@pytest.mark.parametrize(("place", "costs"), [(0.02, False), (0.5, True), (0.98, False)])
def test_a_flipped_byte_in_the_spool(made: Callable[..., Listening], tmp_path: Path, place: float, costs: bool) -> None:
    """Head, payload and trailer of the second of three records that nobody has read."""
    collector = made('kind = "unix_stream"\npath = "%s"' % (tmp_path / "s"))
    collector.start()
    marks = []
    for turn in range(3):
        client = collector.connect(tmp_path / "s")
        client.sendall(b"".join(lines("c1", turn * 40, (turn + 1) * 40) + lines("c2", turn * 9, (turn + 1) * 9)))
        acknowledged(client)
        marks.append(collector.spool_bytes())
    collector.end(signal.SIGKILL)
    (segment,) = (collector.state / "spool").glob("*.spool")
    bytes_ = bytearray(segment.read_bytes())
    bytes_[int(marks[0] + place * (marks[1] - marks[0]))] ^= 0x10
    segment.write_bytes(bytes_)
    (collector.state / "checkpoints").unlink()
    for file in collector.out.glob("*/*.arrow"):
        file.unlink()
    collector.start()
    if not costs:
        collector.wait(lambda: collector.has("c1", 120) and collector.has("c2", 27))
        assert not collector.rows("rejects")
        return
    collector.wait(lambda: len(collector.seqs("c1")) == 80 and len(collector.rows("rejects")) == 2)
    collector.wait(lambda: len(collector.rows("connections")) == 2)
    assert collector.seqs("c1") == [*range(40), *range(80, 120)]
    trace = {row["connection_id"]: row["trace_id"] for row in collector.rows("connections").values()}
    rejects = list(collector.rows("rejects").values())
    assert sorted((row["trace_id"], row["seq"], row["seq_last"]) for row in rejects) == sorted(
        [(trace["c1"], 40, 79), (trace["c2"], 9, 17)]
    )
    assert {row["reason"] for row in rejects} == {"spool_corrupt"} and any(row["bytes"] for row in rejects)


def away(collector: Listening) -> None:
    """Nothing can be written where the sink is."""
    collector.wait(collector.out.is_dir)
    collector.out.rename(collector.out.with_name("out.away"))
    collector.out.write_bytes(b"")


def back(collector: Listening) -> None:
    collector.out.unlink()
    collector.out.with_name("out.away").rename(collector.out)


def test_a_full_spool_makes_the_peer_wait(made: Callable[..., Listening], tmp_path: Path) -> None:
    path = str(tmp_path / "s")
    collector = made(f'kind = "unix_stream"\npath = "{path}"', spool="max_bytes = 1048576")
    collector.start()
    client = collector.connect(tmp_path / "s")
    away(collector)
    count = 80_000
    text = b"".join(lines("c1", 0, count))
    client.settimeout(3)
    sent = 0
    with pytest.raises(TimeoutError):
        while sent < len(text):
            sent += client.send(text[sent : sent + 65536])
    assert sent < len(text) and collector.spool_bytes() <= 1 << 20
    collector.end(signal.SIGKILL)  # what is in the spool was acknowledged
    collector.start()
    back(collector)
    collector.wait(lambda: len(collector.seqs()) > 1000)
    kept = collector.seqs()
    assert kept == list(range(len(kept)))
    client = collector.connect(tmp_path / "s")
    client.sendall(b"".join(lines("c1", len(kept), count)))
    acknowledged(client)
    collector.wait(lambda: collector.has("c1", count))
    assert not [row for row in collector.rows("rejects").values() if row["reason"] != "truncated"]


def test_a_full_spool_drops_events_and_keeps_summaries(made: Callable[..., Listening], tmp_path: Path) -> None:
    path = str(tmp_path / "s")
    collector = made(f'kind = "unix_stream"\npath = "{path}"', spool='max_bytes = 1048576\nwhen_full = "drop_events"')
    collector.start()
    client = collector.connect(tmp_path / "s")
    client.settimeout(60)
    client.sendall(b"".join(lines("c1", 0, 10)))
    collector.wait(lambda: collector.has("c1", 10))
    away(collector)
    count = 80_000
    client.sendall(b"".join(lines("c1", 10, count)))
    acknowledged(client)
    assert list((collector.state / "outbox").glob("*.waiting"))
    collector.end(signal.SIGKILL)
    collector.start()
    back(collector)
    collector.wait(lambda: any(row["events_seen"] == count for row in collector.rows("connections").values()))
    collector.wait(lambda: not list((collector.state / "outbox").glob("*.waiting")))
    assert collector.end(signal.SIGTERM) == 0
    known = set(collector.seqs())
    rejects = [row for row in collector.rows("rejects").values() if row["reason"] == "spool_full"]
    for row in rejects:
        known.update(range(row["seq"], row["seq_last"] + 1))
    assert known == set(range(count)) and len(collector.seqs()) < count
    assert {row["trace_id"] for row in rejects} == {row["trace_id"] for row in collector.rows("connections").values()}


def test_a_full_disk_is_a_full_spool(made: Callable[..., Listening], tmp_path: Path) -> None:
    path = str(tmp_path / "s")
    collector = made(f'kind = "unix_stream"\npath = "{path}"', spool="min_free_bytes = 0")
    spool = collector.state / "spool"
    spool.mkdir(parents=True)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=600k", "none", spool], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip(f"no tmpfs: {mounted.stderr.decode().strip()}")
    try:
        collector.start()
        client = collector.connect(tmp_path / "s")
        away(collector)
        count = 60_000
        text = b"".join(lines("c1", 0, count))
        client.settimeout(3)
        sent = 0
        with pytest.raises(TimeoutError):
            while sent < len(text):
                sent += client.send(text[sent : sent + 65536])
        assert os.statvfs(spool).f_bavail <= 64 and collector.process is not None and collector.process.poll() is None
        back(collector)
        client.settimeout(60)
        client.sendall(text[sent:])
        acknowledged(client)
        collector.wait(lambda: collector.has("c1", count))
        assert not collector.rows("rejects")
        assert collector.end(signal.SIGTERM) == 0
    finally:
        if collector.process is not None:
            collector.end(signal.SIGKILL)
        subprocess.run(["umount", spool], check=True)


@pytest.mark.kafka
def test_the_raw_topic_is_read_on_after_kills(made: Callable[..., Listening], broker: Any) -> None:
    collector = made(f'kind = "kafka"\nbrokers = "{broker.address}"\npartitions = [0, 1]')
    producer = kafka.producer(broker.address, {})

    def produce(connection: str, partition: int, first: int, last: int) -> None:
        some = lines(connection, first, last)
        for begin in range(0, len(some), 10):
            producer.produce("quic.raw.v1", b"".join(some[begin : begin + 10]), partition=partition)
        assert producer.flush(20) == 0

    for turn in range(4):
        produce("r1", 0, turn * 200, (turn + 1) * 200)
        produce("r2", 1, turn * 50, (turn + 1) * 50)
        produce("r3", 2, turn * 50, (turn + 1) * 50)  # of a partition that is another collector's
        collector.start()
        time.sleep(0.3 + 0.4 * (turn % 3))
        collector.end(signal.SIGKILL)
    collector.start()
    collector.wait(lambda: collector.has("r1", 800) and collector.has("r2", 200))
    collector.wait(lambda: len(collector.rows("connections")) == 2)
    assert not collector.seqs("r3") and not collector.rows("rejects")
    assert collector.end(signal.SIGTERM) == 0


def test_addresses_and_sockets_that_cannot_be_had_are_told(made: Callable[..., Listening], tmp_path: Path) -> None:
    open_to_all = made('kind = "udp"\naddress = "0.0.0.0:5140"')
    done = subprocess.run([COLLECTOR, "check", open_to_all.config], capture_output=True, text=True, check=False)
    assert done.returncode != 0 and "allow_remote" in done.stderr
    first = made(f'kind = "unix_stream"\npath = "{tmp_path / "s"}"')
    done = subprocess.run([COLLECTOR, "check", first.config], capture_output=True, text=True, check=True)
    assert "max_connections = 256" in done.stdout and "max_bytes = 1073741824" in done.stdout
    first.start()
    first.connect(tmp_path / "s")
    second = made(f'kind = "unix_stream"\npath = "{tmp_path / "s"}"')
    done = subprocess.run([COLLECTOR, "run", second.config], capture_output=True, text=True, check=False)
    assert done.returncode != 0 and "cannot listen" in done.stderr


def test_each_listener_has_its_own_limit(made: Callable[..., Listening], tmp_path: Path) -> None:
    listeners = [f'kind = "unix_stream"\npath = "{tmp_path / name}"\nmax_connections = 1' for name in ("a", "b")]
    collector = made("\n[[listen]]\n".join(listeners))
    collector.start()
    for name in ("a", "b"):
        client = collector.connect(tmp_path / name)
        client.sendall(b"".join(lines(name, 0, 3)))
    collector.wait(lambda: collector.has("a", 3) and collector.has("b", 3))
    extra = collector.connect(tmp_path / "a")
    assert extra.recv(1) == b"", "one more peer of a full listener is turned away"


def test_a_collector_without_descriptors_lets_peers_wait(made: Callable[..., Listening], tmp_path: Path) -> None:
    collector = made(f'kind = "unix_stream"\npath = "{tmp_path / "s"}"\nmax_connections = 1000')
    collector.start()
    first = collector.connect(tmp_path / "s")
    first.sendall(b"".join(lines("c1", 0, 3)))
    collector.wait(lambda: collector.has("c1", 3))
    assert collector.process is not None
    pid = collector.process.pid
    used = max(int(each.name) for each in Path(f"/proc/{pid}/fd").iterdir())
    soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (used + 2, hard))
    others = [collector.connect(tmp_path / "s") for _ in range(8)]
    for other in others:
        other.sendall(b"".join(lines("c2", 0, 1)))
    said = collector.config.parent / "said"
    collector.wait(lambda: "lines were suppressed" in said.read_text())  # it was tried more often than it was told
    told = said.read_text().partition("lines were suppressed")[0]
    assert 1 <= told.count("no descriptor is left") <= 10, told  # five in ten seconds, and five of the next
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, hard))
    others[-1].sendall(b"".join(lines("c3", 0, 4)))
    collector.wait(lambda: collector.has("c3", 4))
