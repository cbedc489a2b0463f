"""`quiclens-lab limits`: does any real log cross a limit of the collector?

Real logs, logs of the lab's own stacks, a demo with its access log, and a log of a server with 20,000 connections open
at once, are loaded. A load passes where it crosses no limit of `collectors/README.md`: none of its records is rejected
for one, and `limits_crossed` is empty. stdout is one JSON document; exit 1 where one is crossed.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from quiclens_lab import progress
from quiclens_lab.damage.flipped_bits import TRACES, VECTORS
from quiclens_lab.damage.sources import make_aioquic
from quiclens_lab.demo import ACCESS_LOG, make_folder
from quiclens_lab.errors import LabError
from quiclens_lab.judgement import Judgement
from quiclens_lab.machine import LAB, collector_binary
from quiclens_lab.population import population

CONNECTIONS = 20_000  # of the server that the bar asks for, open at once
DEMO = 200  # connections
STACKS = LAB.parent / ".made" / "damage" / "logs"
"""Logs of the stacks in virtual time that are not Python, a folder each; `make damage` makes them."""

_README = LAB.parent / "collectors" / "README.md"
_STARTED_US = 1_795_168_800_000_000
_OPENED_EVERY_US = 100
_REQUESTS = 6  # of each of its connections
_SEED = 1  # of the demo
_AIOQUIC_SEEDS = 3


def limits(folders: Sequence[Path], connections: int, demo: int, keep: bool) -> dict[str, Any]:
    """Load logs of these folders, or where none is given `../shared/traces` (else the cases) and runs of every stack
    of the lab; then a demo's of so many connections, and a server's. `passes` where no limit is crossed. LabError
    where nothing can be loaded."""
    judgement = Judgement("limits")
    reasons = limit_reasons()
    judgement.least("connections open at once", CONNECTIONS, connections)
    judgement.least("connections of a demo", DEMO, demo)
    judgement.leave_out(bool(folders) or not TRACES.is_dir(), "real logs: ../shared/traces")
    judgement.leave_out(bool(folders), "runs of aioquic")
    stacks = sorted(each for each in STACKS.glob("*") if each.is_dir())
    judgement.leave_out(bool(folders) or len(stacks) < 2, f"runs of other stacks, in {STACKS}")
    with tempfile.TemporaryDirectory(prefix="quiclens-limits-") as made:
        scratch = Path(made)
        chosen = list(folders) or [TRACES if TRACES.is_dir() else VECTORS, *stacks]
        if not folders:
            make_aioquic(scratch / "aioquic", _AIOQUIC_SEEDS, os.cpu_count() or 1, progress.show)
            chosen.append(scratch / "aioquic")
        server = scratch / "server.log"
        server.write_text("".join(server_lines(connections)))
        simulated = scratch / "demo"
        simulated.mkdir()
        make_folder(population(demo, _SEED), simulated, with_client_traces=False, with_h2_lines=True)
        loads = [{"logs": folder.name, **_load(folder, made)} for folder in chosen]
        of_demo = _load(simulated / "server", made, "--requests", str(simulated / ACCESS_LOG))
        loads += [{"logs": "demo", **of_demo}, {"logs": "server", **_load(server, made)}]
    for load in loads:
        rejected = {reason: count for reason, count in load["rejected"].items() if reason in reasons}
        for limit, times in (rejected | load["limits_crossed"]).items():
            judgement.miss(f"{load['logs']}: {limit} is crossed {times} times")
    for load, wanted in ((loads[-2], demo), (loads[-1], connections)):
        judgement.want(
            load["connections"] == wanted, f"{load['logs']}: {load['connections']} connections of {wanted} have a row"
        )
    judgement.found |= {"reasons": sorted(reasons), "loads": loads}
    return judgement.document(keep)


def limit_reasons() -> set[str]:
    """Reasons of rejects that a limit has, as the README's table, which a test of the collector compares, says."""
    text = _README.read_text().partition("## Limits")[2].partition("\n## ")[0]
    found = set(re.findall(r"\| reject `(\w+)` \|", text))
    if len(found) < 5:
        raise LabError(f"{_README}: the table of limits cannot be read")
    # A row that is none has this reason too; of a log that a server wrote it is no limit.
    return found - {"not_a_record"}


def server_lines(connections: int) -> Iterator[str]:
    """A log of `quiclens line v1` whose connections are all open before the first of them ends; each has six requests,
    one after the other."""
    for at in range(connections):
        us = _OPENED_EVERY_US * at
        yield f"c{at}\t0\t{us}\tclock_anchor\t{_STARTED_US + us}, edge-1, {at}, server\n"
    us = _OPENED_EVERY_US * connections
    rows = ["packet_recvd\t4, 300"]
    for stream in range(0, 4 * _REQUESTS, 4):
        rows += [f"stream_event\ton_headers, {stream}, 0", f"stream_event\ton_eom, {stream}, 0"]
    for number, row in enumerate(rows, 1):
        for at in range(connections):
            us += 10
            yield f"c{at}\t{number}\t{us}\t{row}\n"


def _load(path: Path, folder: str, *options: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "quiclens_command_line", "load", str(path), *options]
    command += ["--json", "--store", f"chdb:{Path(folder) / 'store'}-{path.name}"]
    environment = {**os.environ, "QUICLENS_COLLECTOR": str(collector_binary())}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    try:
        told = json.loads(done.stdout)
        wanted = ("files", "connections", "events", "rejected", "limits_crossed", "seconds")
        return {name: told[name] for name in wanted}
    except (ValueError, KeyError, TypeError) as error:
        raise LabError(f"{path} cannot be loaded: {(done.stderr or done.stdout).strip()[-400:]}") from error
