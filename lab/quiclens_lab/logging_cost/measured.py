"""One turn: a server with one setting of its logging under the load, seen from outside."""

import json
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from quiclens_lab.errors import LabError
from quiclens_lab.logging_cost.load import Load, Loaded, chosen
from quiclens_lab.logging_cost.stacks import Stack
from quiclens_lab.outside import said_by
from quiclens_lab.servers import PATIENCE_S

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

ZSTD_LEVEL = 3
_LOAD_PATIENCE_S = 600
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class MeasuredTurn:
    """What a server took and wrote, and how long its client waited."""

    share: float
    cpu_s: float  # user and system, all threads, from before the first connection to the end of the process
    qlog_bytes: int
    qlog_zstd_bytes: int  # each file by itself
    access_log_bytes: int
    logged: int  # connections
    missed: str  # what is not as it must be
    loaded: Loaded

    @property
    def requests(self) -> int:
        return sum(len(each) for each in self.loaded.latencies_us)


def turn(stack: Stack, load: Load, share: float, folder: Path) -> MeasuredTurn:
    """Start the server, ask, end it, and read what it left in `folder`."""
    traces = folder / "traces"
    with stack.serving(folder, share) as running:
        before_s = cpu_s(running.pid)
        loaded = _asked(running.port, load)
        wanted = chosen(load, share)
        _wait_for_logs(traces, len(wanted))
        os.kill(running.pid, stack.ends_on)
        used_s = _cpu_s_at_its_end(running.pid) - before_s
    files = sorted(traces.iterdir()) if traces.is_dir() else []
    texts = [file.read_bytes() for file in files]
    names = {file.name.partition("_")[0].partition(".")[0] for file in files}
    log = folder / "access.jsonl" if stack.has_access_log else None
    return MeasuredTurn(
        share=share,
        cpu_s=round(used_s, 3),
        qlog_bytes=sum(map(len, texts)),
        qlog_zstd_bytes=sum(len(zstd.compress(text, ZSTD_LEVEL)) for text in texts),
        access_log_bytes=log.stat().st_size if log else 0,
        logged=len(files),
        missed=missed(load, share, names if stack.names_first_ids else len(files), texts, _lines(log) if log else None),
        loaded=loaded,
    )


def missed(load: Load, share: float, logged: set[str] | int, texts: list[bytes], lines: int | None) -> str:
    """What is wrong, in words: other connections are logged than the hash chooses, a log or a line is missing.

    `logged` is how many, where the names of a server's logs are not the ids that its clients chose; `lines` is None
    where the server has no access log."""
    wanted = chosen(load, share)
    if logged != (len(wanted) if isinstance(logged, int) else wanted):
        found = logged if isinstance(logged, int) else len(logged)
        return f"logged {found} connections, not the {len(wanted)} that are chosen at a share of {share:g}"
    if not all(texts):
        return "a log of a connection is empty"
    if lines is not None and lines != load.connections * load.requests:
        return f"{lines} lines in the access log, not {load.connections * load.requests}"
    return ""


def cpu_s(pid: int) -> float:
    """User and system time of a process, of all its threads."""
    return cpu_s_in(Path(f"/proc/{pid}/stat").read_text())


def cpu_s_in(stat: str) -> float:
    """The same, of the text of its `stat`: a program's name may hold spaces and brackets."""
    fields = stat.rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def _cpu_s_at_its_end(pid: int) -> float:
    """What a process that was told to end had used; it stays until its parent takes note, which is later."""
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            return cpu_s(pid)
        time.sleep(0.01)
    raise LabError(f"the server did not end within {PATIENCE_S} s of being told to")


def _asked(port: int, load: Load) -> Loaded:
    words = [sys.executable, "-m", "quiclens_lab.logging_cost.load", "--port", str(port), "--share", str(load.share)]
    words += ["--connections", str(load.connections), "--requests", str(load.requests)]
    said = said_by([*words, "--together", str(load.together)], patience_s=_LOAD_PATIENCE_S)
    return TypeAdapter(Loaded).validate_json(said)


def _wait_for_logs(traces: Path, wanted: int) -> None:
    """A document is written some time after its connection's end. What does not come is told by `missed`."""
    until = time.monotonic() + PATIENCE_S
    while wanted and len(list(traces.iterdir())) < wanted and time.monotonic() < until:
        time.sleep(0.05)


def _lines(log: Path) -> int:
    return sum(1 for line in log.read_text().splitlines() if json.loads(line))
