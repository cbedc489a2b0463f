"""Processor time of programs in seconds: of one that ends, and of one that goes on, until it has begun."""

import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from quiclens_lab.errors import LabError

_PATIENCE_S = 60.0
_TICKS = os.sysconf("SC_CLK_TCK")


def cheapest(words: Sequence[str], runs: int) -> float:
    """Of the cheapest of some runs of a program that ends. LabError where it cannot do its work."""
    return min(ended(words) for _ in range(runs))


def ended(words: Sequence[str]) -> float:
    """Of one run, what it started included. LabError where it cannot do its work."""
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=said, stderr=said, env=_environment({}))
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode > 1:  # 1: nothing was found
            raise LabError(f"{' '.join(words)}: {_read(said)}")
    return round(used.ru_utime + used.ru_stime, 3)


def begun(words: Sequence[str]) -> float:
    """Of a program that goes on, until it tells its supervisor that it has begun, as sd_notify(3) says; it is ended
    then. LabError where it does not tell."""
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
        place = f"{folder}/notify"
        told.bind(place)
        told.settimeout(0.2)

        def has_begun(_: IO[bytes]) -> bool:
            with suppress(TimeoutError):
                return b"READY=1" in told.recv(4096)
            return False

        return _until(words, {"NOTIFY_SOCKET": place}, has_begun)


def spoken(words: Sequence[str], text: str) -> float:
    """Of a program until it has said this; it is ended then. LabError where it does not say it."""

    def has_said(said: IO[bytes]) -> bool:
        time.sleep(0.005)
        return text in _read(said)

    return _until(words, {}, has_said)


def _until(words: Sequence[str], environment: Mapping[str, str], is_there: Callable[[IO[bytes]], bool]) -> float:
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            env=_environment(environment),
            start_new_session=True,
        )
        try:
            until = time.monotonic() + _PATIENCE_S
            while not is_there(said):
                if process.poll() is not None or time.monotonic() > until:
                    raise LabError(f"{' '.join(words)} has not begun: {_read(said)}")
            return round(used(process.pid), 3)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(_PATIENCE_S)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def used(pid: int) -> float:
    """So far, by a process, by its children, and by those of them that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    total = sum(map(int, fields[11:15])) / _TICKS
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            with suppress(OSError):  # it has ended meanwhile
                total += used(int(child))
    return total


def _environment(more: Mapping[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, **more}


def _read(said: IO[bytes]) -> str:
    """What is in a file that another process writes; its place in it is left alone."""
    size = os.fstat(said.fileno()).st_size
    return os.pread(said.fileno(), size, 0).decode(errors="replace").strip()[-500:]
