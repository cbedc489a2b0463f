"""How each kind of fault strikes. Strikes overlap, but no process is struck twice at once; each leaves it running."""

import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from threading import Lock

from quiclens_lab import system
from quiclens_lab.faults_live import Live, free_port, until
from quiclens_lab.faults_schedule import Strike
from quiclens_lab.faults_socket import RowSender, flip_in
from quiclens_lab.faults_writer import LogWriter, WrittenLog, compress

JOIN_S = 6.0
DOCUMENT_S = 60.0
LOOK_S = 0.2
BIN = Path(sys.executable).parent


class Striker:
    """Strikes at one system and at the files that it follows."""

    def __init__(
        self,
        live: Live,
        writer: LogWriter,
        logs: dict[str, WrittenLog],
        all_logs: Sequence[WrittenLog],
        documents: Sequence[WrittenLog],
        sender: RowSender,
    ) -> None:
        self.flips = 0
        self.spool_flips = 0
        self.unseen_ends = 0
        """Access logs that were compressed, or copied and truncated: gone for a collector that is killed before it has
        told its checkpoints of their end."""
        self.documents_struck = 0
        *self._documents, self._linked = documents
        self._sender = sender
        self._live = live
        self._writer = writer
        self._logs = logs
        self._all_logs = all_logs
        self._rotations = 0
        self.cluttered: list[Path] = []
        self._pipes: list[int] = []
        self._struck = {name: Lock() for name in ("collector", "ingest", "serve", "broker")}
        self._choice = Lock()  # one at a time takes a document
        self._record = Lock()  # one at a time changes what is written down of the system

    def strike_all(self, strikes: Sequence[Strike]) -> None:
        """Strike each at its time; meanwhile bring back what gave up by itself, as a supervisor does."""
        began = time.monotonic()
        with ThreadPoolExecutor(len(strikes), thread_name_prefix="strike") as pool:
            done = [pool.submit(self._strike, each, began) for each in strikes]
            while not all(each.done() for each in done):
                self.supervise()
                time.sleep(LOOK_S)
        for pipe in self._pipes:
            os.close(pipe)
        for each in done:
            each.result()

    def supervise(self) -> list[str]:
        """Start again what has ended and is not under a strike; returns what that was."""
        with self._record:
            leave = [name for name, struck in self._struck.items() if struck.locked()]
            return system.revive(self._live.folder, [*leave, "joiner"])

    def _strike(self, strike: Strike, began: float) -> None:
        time.sleep(max(began + strike.at_s - time.monotonic(), 0.0))
        function, targets = KINDS[strike.kind]
        with ExitStack() as held:
            for name in sorted(targets):
                held.enter_context(self._struck[name])
            function(self, strike)

    def _again(self, name: str) -> None:
        if name == "broker":
            system.again(self._live.folder, name)
            return
        with self._record:
            system.again(self._live.folder, name)

    def kill(self, strike: Strike) -> None:
        """SIGKILL, and a new one after a while."""
        name = strike.target
        system.end(self._live.folder, name, signal.SIGKILL)
        time.sleep(strike.lasts_s)
        self._again(name)

    def hold(self, strike: Strike) -> None:
        """SIGSTOP for a while. What ended by itself is not there to be held."""
        self.supervise_one(strike.target)
        pid = system.pid_of(self._live.folder, strike.target)
        os.kill(pid, signal.SIGSTOP)
        time.sleep(strike.lasts_s)
        os.kill(pid, signal.SIGCONT)

    def flip(self, strike: Strike) -> None:
        """Flip one bit of the checkpoints while the collector is down."""
        system.end(self._live.folder, "collector", signal.SIGKILL)
        content = bytearray(self._live.checkpoints.read_bytes())
        content[int(float(strike.more["at"]) * len(content))] ^= 1 << int(strike.more["bit"])
        self._live.checkpoints.write_bytes(content)
        self.flips += 1
        time.sleep(strike.lasts_s)
        self._again("collector")

    def replay(self, strike: Strike) -> None:
        """Put the offsets back while nobody takes."""
        how = signal.SIGKILL if strike.more["ends"] == "killed" else signal.SIGTERM
        system.end(self._live.folder, "ingest", how)
        self._live.replay(float(strike.more["back"]))
        self._again("ingest")

    def rebalance(self, strike: Strike) -> None:
        """Another ingest joins the group; one of the two is killed while it has partitions and inserts."""
        folder, metrics = self._live.folder, f"127.0.0.1:{free_port()}"
        words = [str(BIN / "quiclens"), "ingest", "--config", str(folder / "ingest.toml"), "--metrics", metrics]
        with self._record:
            system.beside(folder, "joiner", [*words, "--store", self._live.url])
        end = time.monotonic() + JOIN_S
        while self._live.measure("partitions", metrics) == 0 and time.monotonic() < end:
            time.sleep(0.05)
        time.sleep(strike.lasts_s)
        if strike.more["dies"] == "elder":
            system.end(folder, "ingest", signal.SIGKILL)
            self._again("ingest")
            time.sleep(strike.lasts_s)
        system.end(folder, "joiner", signal.SIGKILL)
        with self._record:
            system.forget(folder, "joiner")

    def rotate(self, strike: Strike) -> None:
        """Rename under the writer, which goes on in a new file."""
        names = ("access",) if strike.target == "access" else ("shared", "lines")
        with self._writer.lock:
            self._rotations += 1
            for log in (self._logs[name] for name in names):
                rotated = log.rotate(f"{log.path.name}.{self._rotations}")
                if rotated is not None and strike.more["compress"]:
                    compress(rotated)
                    self.unseen_ends += log.path.name.startswith("access")

    def truncate(self, strike: Strike) -> None:
        """Copy and truncate under the writer."""
        with self._writer.lock:
            self._rotations += 1
            log = self._logs[strike.target]
            log.truncate(f"{log.path.name}.{self._rotations}", bool(strike.more["writes_between"]))
            self.unseen_ends += log.path.name.startswith("access")

    def kill_writer(self, strike: Strike) -> None:
        """The server dies in the middle of what it writes; the next one goes on with the files that many share."""
        with self._writer.lock:
            for log in self._all_logs:
                log.die()
            time.sleep(strike.lasts_s)

    def strike_document(self, strike: Strike) -> None:
        """Delete or move a whole document that the collector has opened, and let it read what it holds: nobody else can
        find that again."""
        with self._choice:
            if not self._documents:
                return
            log = self._documents.pop(0)
        until(lambda: log.is_written or not self._writer.is_alive(), DOCUMENT_S, "a document is not written")
        self.supervise_one("collector")
        # One that is read and stored is open no more.
        until(
            lambda: self._live.holds(log.path.stat()) or self._is_stored(log), DOCUMENT_S, f"{log.path} is not opened"
        )
        self.documents_struck += not self._is_stored(log)
        if strike.kind.startswith("delete"):
            log.path.unlink()
        else:
            log.path.rename(self._live.traces.parent / log.path.name)
        until(lambda: self._is_stored(log), DOCUMENT_S, f"{log.path} is gone and not stored")

    def _is_stored(self, log: WrittenLog) -> bool:
        return self._live.events_of(log.path.stem) >= log.count

    def clutter(self, strike: Strike) -> None:
        """Put what is no log into the followed folder: a pipe, a socket, links to nothing, to their own folder, and to
        a file that is followed already."""
        until(self._linked.path.exists, DOCUMENT_S, f"{self._linked.path} is not written")
        with self._choice:
            folder = self._live.traces / f"clutter-{len(self.cluttered)}"
            self.cluttered.append(folder)
        folder.mkdir()
        os.mkfifo(folder / "pipe.sqlog")
        if strike.more["has_reader"]:
            # Somebody else's pipe, which nobody may read from or open for them.
            self._pipes.append(os.open(folder / "pipe.sqlog", os.O_RDWR | os.O_NONBLOCK))
            os.write(self._pipes[-1], b"not a log\n")
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(str(folder / "socket.sqlog"))
        (folder / "nothing.sqlog").symlink_to(folder / "is-not-there")
        (folder / "loop").symlink_to(folder)
        (folder / "again.qlog").symlink_to(self._linked.path)

    def fill_spool(self, strike: Strike) -> None:
        """More comes than the spool holds while the broker is away."""
        system.end(self._live.folder, "broker", signal.SIGKILL)
        self._sender.flood()
        time.sleep(strike.lasts_s)
        self._again("broker")

    def flip_spool(self, strike: Strike) -> None:
        """Flip one bit of what waits in the spool for a broker that is away, while the collector is down."""
        system.end(self._live.folder, "broker", signal.SIGKILL)
        time.sleep(strike.lasts_s)
        system.end(self._live.folder, "collector", signal.SIGKILL)
        self.spool_flips += flip_in(self._live.spool, float(strike.more["at"]), int(strike.more["bit"]))
        self._again("collector")
        self._again("broker")

    def supervise_one(self, name: str) -> None:
        """Have this process run, which may have given up."""
        if name != "broker":
            with self._record:
                system.revive(self._live.folder, [each for each in (*self._struck, "joiner") if each != name])


KINDS: dict[str, tuple[Callable[[Striker, Strike], None], Sequence[str]]] = {
    **{f"kill {name}": (Striker.kill, (name,)) for name in ("collector", "ingest", "serve", "broker")},
    **{f"hold {name}": (Striker.hold, (name,)) for name in ("collector", "ingest", "serve", "broker")},
    "outage broker": (Striker.kill, ("broker",)),
    "rebalance ingest": (Striker.rebalance, ("ingest",)),
    "replay ingest": (Striker.replay, ("broker", "ingest")),
    "flip checkpoint": (Striker.flip, ("collector",)),
    "rotate traces": (Striker.rotate, ()),
    "rotate access": (Striker.rotate, ()),
    "truncate lines": (Striker.truncate, ()),
    "truncate access": (Striker.truncate, ()),
    "kill writer": (Striker.kill_writer, ()),
    "fill spool": (Striker.fill_spool, ("broker",)),
    "flip spool": (Striker.flip_spool, ("broker", "collector")),
    # Nothing else strikes at who holds the only descriptor of a file that nobody finds again.
    "delete document": (Striker.strike_document, ("collector",)),
    "move document": (Striker.strike_document, ("collector",)),
    "clutter traces": (Striker.clutter, ()),
}
"""How each kind strikes, and at which processes, one strike at a time."""
