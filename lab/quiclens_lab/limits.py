"""`quiclens-lab limits`: does any real log cross a limit of the collector?

The logs of a folder, a demo that is made here with its access log, and a log of a server with 20,000 connections open
at once, are loaded. A log passes where none of its records is rejected for one of the limits in `collectors/README.md`
that count what is lost. stdout is one JSON document; exit 1 where one is crossed.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from quiclens_lab.damage.flipped_bits import TRACES, VECTORS
from quiclens_lab.demo import ACCESS_LOG, make_folder
from quiclens_lab.errors import LabError
from quiclens_lab.machine import LAB, collector_binary, judged
from quiclens_lab.population import population

_README = LAB.parent / "collectors" / "README.md"
_STARTED_US = 1_795_168_800_000_000
_OPENED_EVERY_US = 100
_SEED = 1  # of the demo


def limits(folder: Path | None, connections: int, demo: int, keep: bool) -> dict[str, Any]:
    """Load a folder's logs, `../shared/traces` or the cases where none is given, a demo's of so many connections,
    and a server's; `passes` where no limit is crossed. LabError where nothing can be loaded."""
    chosen = folder or (TRACES if TRACES.is_dir() else VECTORS)
    reasons = limit_reasons()
    with tempfile.TemporaryDirectory(prefix="quiclens-limits-") as made:
        server = Path(made) / "server.log"
        server.write_text("".join(server_lines(connections)))
        simulated = Path(made) / "demo"
        simulated.mkdir()
        make_folder(population(demo, _SEED), simulated, with_client_traces=False, with_h2_lines=True)
        rows = [
            {"logs": chosen.name, **_load(chosen, made)},
            {"logs": "demo", **_load(simulated / "server", made, "--requests", str(simulated / ACCESS_LOG))},
            {"logs": "server", **_load(server, made)},
        ]
    crossed = [
        f"{row['logs']}: {count} records are {reason}"
        for row in rows
        for reason, count in row["rejected"].items()
        if reason in reasons
    ]
    for row, wanted in ((rows[1], demo), (rows[2], connections)):
        if row["connections"] != wanted:
            crossed.append(f"{row['logs']}: {row['connections']} connections of {wanted} have a row")
    document = {
        "reasons": sorted(reasons),
        "loads": rows,
        "crossed": crossed,
    }
    return judged("limits", document, not crossed, keep)


def limit_reasons() -> set[str]:
    """Reasons of rejects that a limit has, as the README's table, which a test of the collector compares, says."""
    text = _README.read_text().partition("## Limits")[2].partition("\n## ")[0]
    rows = [line.split("|")[3] for line in text.splitlines() if line.startswith("| ") and "---" not in line]
    found = {word for row in rows for word in re.findall(r"`(\w+)`", row)}
    if len(found) < 5:
        raise LabError(f"{_README}: the table of limits cannot be read")
    # A row that is none has this reason too; of a log that a server wrote it is no limit.
    return found - {"not_a_record"}


def server_lines(connections: int) -> Iterator[str]:
    """A log of `quiclens line v1` whose connections are all open before the first of them ends."""
    for at in range(connections):
        us = _OPENED_EVERY_US * at
        yield f"c{at}\t0\t{us}\tclock_anchor\t{_STARTED_US + us}, edge-1, {at}, server\n"
    us = _OPENED_EVERY_US * connections
    rows = ("packet_recvd\t4, 300", "stream_event\ton_headers, 0, 0", "stream_event\ton_eom, 0, 0")
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
        return {name: told[name] for name in ("files", "connections", "events", "rejected", "seconds")}
    except (ValueError, KeyError, TypeError) as error:
        raise LabError(f"{path} cannot be loaded: {(done.stderr or done.stdout).strip()[-400:]}") from error
