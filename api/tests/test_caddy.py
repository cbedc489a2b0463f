"""A stock Caddy, from its own package: its requests find their traces, followed live and loaded from files."""

import asyncio
import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from document_items import ROOT
from quiclens_lab.ports import free_port
from serve_process import quiclens, start
from stock_servers import BIN, COLLECTOR, ask, make_certificate, needs_collector, running

PAGE = (ROOT / "deploy" / "docs" / "servers" / "quic-go-caddy.md").read_text(encoding="utf-8")
CONNECTIONS, REQUESTS = 100, 10
LEAST_LINKED = 0.99
# Beside the page's site: a certificate of ours, and something to answer.
OPTIONS = """{
	admin off
	skip_install_trust
	default_sni localhost
	fallback_sni localhost
}
"""
SITE = """:{port} {{
	tls {folder}/chain.pem {folder}/key.pem
	respond "{body}"
"""

pytestmark = needs_collector


def of_page(kind: str, has: str, folder: Path) -> str:
    """The block of that kind that says `has`, for logs and settings in a folder."""
    blocks = re.findall(rf"^```{kind}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    (block,) = [str(each) for each in blocks if has in each]
    for place, here in {"/var/log/caddy": "logs", "/etc/caddy/": "", "/etc/quiclens/": ""}.items():
        block = block.replace(place, str(folder / here) + ("/" if not here else ""))
    return block


def typed(line: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    """A command line of the page in a folder, in which the store is then."""
    environment = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", "QUICLENS_COLLECTOR": str(COLLECTOR.resolve())}
    environment.pop("QUICLENS_STORE", None)
    done = subprocess.run(
        ["bash", "-c", line], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, (line, done.stdout, done.stderr)
    return done


@dataclass(frozen=True)
class Logs:
    """What Caddy wrote, all of it."""

    folder: Path
    followed: dict[str, Any]  # what the store says of what was followed meanwhile


@pytest.fixture(scope="module")
def caddy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Logs]:
    folder = tmp_path_factory.mktemp("caddy")
    make_certificate(folder)
    port = free_port()
    (folder / "logs").mkdir()
    site = SITE.format(port=port, folder=folder, body="x" * 20_000)
    caddyfile = of_page("caddyfile", "example.net", folder).replace("example.net {\n", site)
    (folder / "Caddyfile").write_text(OPTIONS + caddyfile, encoding="utf-8")
    (folder / "client_secret").write_text("a secret of thirty-two letters..\n")
    with ExitStack() as ending:
        serve = start(folder / "followed")
        ending.callback(serve.stop)
        config = folder / "collector.toml"
        config.write_text(
            f'state_dir = "{folder}/state"\nidle_timeout_s = 5\ncpu_cap = 0\n'
            f'{of_page("toml", "/var/log/caddy", folder)}[sink]\nkind = "quiclens"\nurl = "{serve.url}"\n'
        )
        # As the page has it, QLOGDIR and all; HOME is where Caddy keeps what it makes.
        words = ["bash", "-c", f"exec env {of_page('sh', 'QLOGDIR=', folder)}"]
        here = {"HOME": str(folder), "PATH": f"{BIN}:{os.environ['PATH']}"}
        ending.enter_context(running(words, folder / "caddy.log", **here))
        ending.enter_context(running([COLLECTOR, "run", config], folder / "collector.log"))
        asyncio.run(ask(port, CONNECTIONS, REQUESTS))
        changed, there = time.monotonic(), ""
        # Who stands still for two minutes comes to no more.
        while there != f"{CONNECTIONS * REQUESTS}" and time.monotonic() - changed < 120:
            time.sleep(1)
            before, there = there, serve.one("SELECT countIf(coverage != 'none') FROM requests")
            changed = time.monotonic() if there != before else changed
        yield Logs(folder, quiclens("audit", "--store", serve.store_url)["coverage"])


def test_requests_of_a_caddy_that_is_followed_find_their_traces(caddy: Logs) -> None:
    assert caddy.followed["requests"] == CONNECTIONS * REQUESTS
    assert caddy.followed["traced"] >= LEAST_LINKED * CONNECTIONS * REQUESTS


def test_from_its_files_to_an_explained_request_in_three_commands(caddy: Logs, tmp_path: Path) -> None:
    """As the page prints them, in an empty folder; what each says is read as JSON."""
    typed(of_page("sh", "echo ", caddy.folder).splitlines()[0], tmp_path)
    load, slow, explain = of_page("sh", "quiclens slow", caddy.folder).splitlines()
    loaded = json.loads(typed(f"{load} --json", tmp_path).stdout)
    assert loaded["rejected"] == {}
    listed = json.loads(typed(f"{slow} --json", tmp_path).stdout)
    assert listed["coverage"]["requests"] == CONNECTIONS * REQUESTS
    assert listed["coverage"]["traced"] >= LEAST_LINKED * CONNECTIONS * REQUESTS
    assert listed["coverage"]["traced"] == caddy.followed["traced"], "what is followed is what is loaded"
    first = listed["requests"][0]
    assert (first["method"], first["status"]) == ("GET", 200) and first["request_id"] in typed(slow, tmp_path).stdout
    known = explain.replace("REQUEST_ID", first["request_id"])
    explained = json.loads(typed(f"{known} --json", tmp_path).stdout)
    assert sum(part["us"] for part in explained["parts"]) == explained["duration_us"]
    assert explained["logged_duration_us"] is not None
    assert "sum" in typed(known, tmp_path).stdout
