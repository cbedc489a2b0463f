"""How each kind of fault strikes: small functions, each of which leaves the system running again."""

import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from quiclens_lab import system
from quiclens_lab.faults_live import Live, free_port
from quiclens_lab.faults_schedule import Strike
from quiclens_lab.faults_writer import Log, Writer, compress

JOIN_S = 6.0
BIN = Path(sys.executable).parent


class Striker:
    """Strikes at one system and at the files that it follows."""

    def __init__(self, live: Live, writer: Writer, logs: dict[str, Log], all_logs: Sequence[Log]) -> None:
        self._live = live
        self._writer = writer
        self._logs = logs
        self._all_logs = all_logs
        self._rotations = 0
        self.flips = 0

    def strike(self, strike: Strike) -> None:
        """Wait, bring back what gave up meanwhile, and strike."""
        time.sleep(strike.pause_s)
        system.revive(self._live.folder)
        verb, _, target = strike.kind.partition(" ")
        if target == "writer":
            self._kill_writer(strike)
        elif verb in PROCESSES:
            PROCESSES[verb](self._live, target, strike.lasts_s)
        else:
            FURTHER[strike.kind](self, strike)

    def _kill_writer(self, strike: Strike) -> None:
        with self._writer.lock:
            for log in self._all_logs:
                log.die()
            time.sleep(strike.lasts_s)

    def rotate(self, strike: Strike) -> None:
        with self._writer.lock:
            self._rotations += 1
            name = strike.kind.removeprefix("rotate ")
            for log in self._logs_of(name):
                rotated = log.rotate(f"{log.path.name}.{self._rotations}")
                if rotated is not None and strike.more["compress"]:
                    compress(rotated)

    def truncate(self, strike: Strike) -> None:
        with self._writer.lock:
            self._rotations += 1
            log = self._logs[strike.kind.removeprefix("truncate ")]
            log.truncate(f"{log.path.name}.{self._rotations}", bool(strike.more["writes_between"]))

    def _logs_of(self, name: str) -> list[Log]:
        return [self._logs["access"]] if name == "access" else [self._logs["shared"], self._logs["lines"]]

    def flip(self, strike: Strike) -> None:
        """Flip one bit of the checkpoints while the collector is down."""
        self._live.end("collector")
        content = bytearray(self._live.checkpoints.read_bytes())
        content[int(float(strike.more["at"]) * len(content))] ^= 1 << int(strike.more["bit"])
        self._live.checkpoints.write_bytes(content)
        self.flips += 1
        time.sleep(strike.lasts_s)
        system.again(self._live.folder, "collector")

    def replay(self, strike: Strike) -> None:
        """Put the offsets back while nobody takes."""
        self._live.end("ingest", signal.SIGKILL if strike.more["ends"] == "killed" else signal.SIGTERM)
        self._live.replay(float(strike.more["back"]))
        system.again(self._live.folder, "ingest")

    def rebalance(self, strike: Strike) -> None:
        """Another ingest joins the group; one of the two is killed while it has partitions and inserts."""
        folder, metrics = self._live.folder, f"127.0.0.1:{free_port()}"
        words = [str(BIN / "quiclens"), "ingest", "--config", str(folder / "ingest.toml"), "--metrics", metrics]
        joiner = system.beside(folder, "joiner", [*words, "--store", self._live.url])
        end = time.monotonic() + JOIN_S
        while self._live.measure("partitions", metrics) == 0 and time.monotonic() < end:
            time.sleep(0.05)
        time.sleep(strike.lasts_s)
        if strike.more["dies"] == "elder":
            self._live.end("ingest")
            system.again(folder, "ingest")
            time.sleep(strike.lasts_s)
        os.kill(joiner, signal.SIGKILL)
        system.wait_until_ended(joiner)
        system.forget(folder, "joiner")


def _kill(live: Live, name: str, lasts_s: float) -> None:
    live.end(name)
    time.sleep(lasts_s)
    system.again(live.folder, name)


def _hold(live: Live, name: str, lasts_s: float) -> None:
    pid = system.pid_of(live.folder, name)
    os.kill(pid, signal.SIGSTOP)
    time.sleep(lasts_s)
    os.kill(pid, signal.SIGCONT)


PROCESSES: dict[str, Callable[[Live, str, float], None]] = {"kill": _kill, "hold": _hold}
FURTHER: dict[str, Callable[[Striker, Strike], None]] = {
    "broker outage": lambda striker, strike: _kill(striker._live, "broker", strike.lasts_s),
    "rebalance": Striker.rebalance,
    "replay": Striker.replay,
    "flip checkpoint": Striker.flip,
    "rotate traces": Striker.rotate,
    "rotate access": Striker.rotate,
    "truncate lines": Striker.truncate,
    "truncate access": Striker.truncate,
}
