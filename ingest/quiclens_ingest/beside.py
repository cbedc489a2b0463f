"""`quiclens serve --brokers …`: ingest as a process beside the one that holds the store, started and ended with it.

The two need opposite rights: the engine's process gives up the network, and Kafka's client needs it. So they share a
command and a life, and rows go from one to the other through the store's unix socket. `Beside` is the parent's half.
The other half is this module as a program: `supervise` starts `take` again whenever that fails, since a confined parent
could only start confined programs; `take` is ingest itself. Each ends when its standard input does, so neither outlives
its parent, however that ends.
"""

import logging
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread

from pydantic import TypeAdapter, ValidationError
from quiclens_schema.plain_text import log_to_stderr
from quiclens_schema.served import ServedStore
from quiclens_schema.store import StorePlace

from quiclens_ingest.settings import IngestSettings

_log = logging.getLogger("quiclens.ingest")

_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 1.0, 60.0
_WENT_WELL_SECONDS = 60.0  # a process that lived so long begins with the first pause again
_LOOK_SECONDS = 0.5
_SPARE_SECONDS = 10.0  # for ending, beyond what ingest has for what it holds
_OURS_ALONE = "QUICLENS_SERVE_"  # tokens and keys of `serve`: not for other processes


@dataclass(frozen=True, slots=True)
class Work:
    """What `take` is told: where the store answers its own user, and how to take from Kafka."""

    folder: str
    socket: str
    settings: IngestSettings


class Beside:
    """The process, from its parent's side. Made before the parent is confined; it waits until it is told to begin."""

    def __init__(self, settings: IngestSettings) -> None:
        self._settings = settings
        kept = {name: value for name, value in os.environ.items() if not name.startswith(_OURS_ALONE)}
        self._process = subprocess.Popen(_words("supervise"), stdin=subprocess.PIPE, env=kept)

    def begin(self, folder: Path, socket: Path) -> None:
        """Take from Kafka into the store that answers on this socket."""
        work = Work(str(folder), str(socket), self._settings)
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(TypeAdapter(Work).dump_json(work) + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            _log.error("ingest ended before it began")

    def unwell(self) -> list[str]:
        """Why nothing is taken from Kafka; what ails a process that runs is told by its own /healthz."""
        return [] if self._process.poll() is None else ["ingest has ended"]

    def close(self) -> None:
        """Have it store and commit what it holds, and wait for that."""
        if self._process.stdin is not None and not self._process.stdin.closed:
            with suppress(BrokenPipeError):
                self._process.stdin.close()
        try:
            self._process.wait(self._settings.drain_seconds + _SPARE_SECONDS)
        except subprocess.TimeoutExpired:
            _log.warning("ingest has not ended; what it did not commit is taken again later")


def _words(what: str) -> list[str]:
    return [sys.executable, "-m", "quiclens_ingest.beside", what]


def supervise() -> int:
    """Run `take`, again after each failure, until standard input ends."""
    line = sys.stdin.buffer.readline()
    if not line.endswith(b"\n"):
        return 0  # the parent ended before it served
    ending = Event()
    Thread(target=_wait_for_the_end, args=(ending,), daemon=True).start()
    pause = _FIRST_PAUSE_SECONDS
    while True:
        began = time.monotonic()
        code = _run_once(line, ending)
        if ending.is_set():
            return 0
        if time.monotonic() - began > _WENT_WELL_SECONDS:
            pause = _FIRST_PAUSE_SECONDS
        how = f"code {code}" if code >= 0 else f"signal {-code}"
        _log.error("ingest ended with %s and is started again in %.0f s", how, pause)
        ending.wait(pause)
        pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)


def take() -> int:
    """Take from Kafka as standard input's first line says, until that ends."""
    # Here, so that the parent, which imports this module too, does not have Kafka's client in its process.
    from quiclens_ingest.ingest import ingest
    from quiclens_ingest.kafka import BrokerError, KafkaException
    from quiclens_ingest.take import TakeError

    try:
        work = TypeAdapter(Work).validate_json(sys.stdin.buffer.readline())
    except ValidationError:
        return 0  # the parent ended, or is of another version, which its own end will show
    ending = Event()
    Thread(target=_wait_for_the_end, args=(ending,), daemon=True).start()
    where = f"{work.settings.brokers} as {work.settings.group}"
    with ServedStore(StorePlace(work.folder, socket=work.socket)) as store:
        try:
            ingest(store, work.settings, ending, ready=lambda _: _log.warning("taking from %s", where))
        except (TakeError, BrokerError, KafkaException, OSError) as error:
            _log.error("taking from %s failed: %s", where, error)
            return 3
    return 0


def _run_once(line: bytes, ending: Event) -> int:
    """One `take`, until it ends or is to end; its exit code."""
    process = subprocess.Popen(_words("take"), stdin=subprocess.PIPE)
    assert process.stdin is not None
    with suppress(BrokenPipeError), process.stdin:  # whoever ended already has an exit code that says why
        process.stdin.write(line)
        process.stdin.flush()
        while process.poll() is None and not ending.wait(_LOOK_SECONDS):
            pass
    return process.wait()


def _wait_for_the_end(ending: Event) -> None:
    sys.stdin.buffer.read()
    ending.set()


def main() -> int:
    """`python -m quiclens_ingest.beside supervise|take`"""
    # Of the terminal, the service, or meant for the parent, which reads its files again: it says when to end.
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)
    log_to_stderr()
    return supervise() if sys.argv[1:] == ["supervise"] else take()


if __name__ == "__main__":
    sys.exit(main())
