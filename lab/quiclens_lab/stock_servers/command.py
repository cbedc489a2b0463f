"""Run the tests of servers, folder by folder, and judge what they found."""

import os
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from quiclens_lab.judgement import Judgement
from quiclens_lab.machine import LAB
from quiclens_lab.progress import say
from quiclens_lab.stock_servers.reports import Server, by_server, cases

LEAST_LINKED = 0.99
_PATIENCE_S = 3600
_PLUGIN = "quiclens_lab.stock_servers.figures"


@dataclass(frozen=True, slots=True)
class Proof:
    """Tests of servers in one file, and which of them must be among its tests."""

    file: str
    servers: tuple[str, ...]
    choose: str = ""
    """pytest's -k."""
    least_requests: int = 1


PROOFS = (
    Proof("api/tests/test_caddy.py", ("caddy",), least_requests=1000),
    Proof("api/tests/test_envoy.py", ("envoy",), least_requests=1000),
    Proof("api/tests/test_ngtcp2.py", ("ngtcp2",), least_requests=100),
    # Old versions of quic-go are of `make quic-go-versions`.
    Proof("lab/tests/test_servers_live.py", ("quiche", "quic-go", "aioquic", "quinn"), "not quic-go-v"),
)


def stock_servers(keep: bool) -> dict[str, Any]:
    """Every server; `passes` is false where a test of one fails or is skipped, or too few requests are linked."""
    judgement = Judgement("stock-servers", {"load_average": {"before": os.getloadavg()[0]}})
    servers: dict[str, Server] = {}
    with tempfile.TemporaryDirectory(prefix="quiclens-stock-servers-") as scratch:
        for tests in PROOFS:
            with judgement.stage(tests.file):
                report = Path(scratch) / f"{Path(tests.file).stem}.xml"
                ran(tests, report)
                found = by_server(cases(report, tests.servers[0]))
                servers |= found
                for name in {*tests.servers, *found}:
                    for wrong in missed(name, found.get(name, Server()), tests.least_requests):
                        judgement.miss(wrong)
    judgement.found["servers"] = {name: _told(name, each) for name, each in servers.items()}
    judgement.found["load_average"]["after"] = os.getloadavg()[0]
    return judgement.document(keep)


def ran(tests: Proof, report: Path) -> None:
    """Run the tests of one file; what they say goes to a person, what they found into the report."""
    say(f"stock-servers: {tests.file}")
    command = [sys.executable, "-m", "pytest", "--quiet", "-p", _PLUGIN, f"--junitxml={report}", "-rs", tests.file]
    command += ["-k", tests.choose] if tests.choose else []
    done = subprocess.run(command, cwd=LAB.parent, stdout=sys.stderr, timeout=_PATIENCE_S, check=False)
    if done.returncode not in (0, 1):
        raise subprocess.CalledProcessError(done.returncode, command)


def missed(name: str, server: Server, least_requests: int) -> list[str]:
    """What a server misses, in one line each."""
    if not server.passed and not server.failed and not server.skipped:
        return [f"{name}: no test of it ran"]
    wrong = [f"{name}: failed: {each}" for each in server.failed]
    wrong += [f"{name}: skipped: {each}" for each in server.skipped]
    if server.requests is None or server.requests < least_requests:
        wrong.append(f"{name}: {server.requests} requests, {least_requests} are wanted")
    share = server.linked_share
    if server.linked_by != "none" and (share is None or share < LEAST_LINKED):
        wrong.append(f"{name}: linked are {share}, {LEAST_LINKED} are wanted")
    return wrong


def _told(name: str, server: Server) -> dict[str, Any]:
    share = "without a trace" if server.linked_by == "none" else f"{server.linked_share} linked"
    say(f"stock-servers: {name}: {'pass' if server.passes else 'FAIL'}: {server.requests} requests, {share}")
    return {**asdict(server), "linked_share": server.linked_share, "passes": server.passes}
