"""A stock Caddy, from its own package: its requests find their traces, followed live and loaded from files."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from serve_process import quiclens, start
from stock_servers import BIN, COLLECTOR, ask, free_port, make_certificate, needs_collector, running

CONNECTIONS, REQUESTS = 100, 10
LEAST_LINKED = 0.99
CADDYFILE = """{{
	admin off
	skip_install_trust
	default_sni localhost
	fallback_sni localhost
}}
:{port} {{
	tls {folder}/chain.pem {folder}/key.pem
	log {{
		output file {folder}/access.jsonl {{
			mode 0644
		}}
		format json
	}}
	respond "{body}"
}}
"""

pytestmark = needs_collector


@dataclass(frozen=True)
class Logs:
    """What Caddy wrote, all of it."""

    folder: Path
    followed: dict[str, Any]  # what the store says of what was followed meanwhile


@pytest.fixture(scope="module")
def caddy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Logs]:
    folder = tmp_path_factory.mktemp("caddy")
    (folder / "traces").mkdir()
    make_certificate(folder)
    port = free_port()
    (folder / "Caddyfile").write_text(CADDYFILE.format(port=port, folder=folder, body="x" * 20_000))
    (folder / "secret").write_text("a secret of thirty-two letters..\n")
    with ExitStack() as ending:
        serve = start(folder / "followed")
        ending.callback(serve.stop)
        config = folder / "collector.toml"
        config.write_text(
            f'state_dir = "{folder}/state"\ntraces = ["{folder}/traces"]\nidle_timeout_s = 5\ncpu_cap = 0\n'
            f'[enrich]\nsecret_file = "{folder}/secret"\n'
            f'[[access_log]]\npath = "{folder}/access.jsonl"\nformat = {{ preset = "caddy" }}\n'
            f'[sink]\nkind = "quiclens"\nurl = "{serve.url}"\n'
        )
        words: list[str | Path] = [BIN / "caddy", "run", "--config", folder / "Caddyfile", "--adapter", "caddyfile"]
        here = {"HOME": str(folder), "QLOGDIR": str(folder / "traces")}
        ending.enter_context(running(words, folder / "caddy.log", **here))
        ending.enter_context(running([COLLECTOR, "run", config], folder / "collector.log"))
        asyncio.run(ask(port, CONNECTIONS, REQUESTS))
        until = time.monotonic() + 600
        while True:
            coverage = quiclens("audit", "--store", serve.store_url)["coverage"]
            if coverage["requests"] == coverage["traced"] == CONNECTIONS * REQUESTS or time.monotonic() > until:
                break
            time.sleep(1)
        yield Logs(folder, coverage)


def test_requests_of_a_caddy_that_is_followed_find_their_traces(caddy: Logs) -> None:
    assert caddy.followed["requests"] == CONNECTIONS * REQUESTS
    assert caddy.followed["traced"] >= LEAST_LINKED * CONNECTIONS * REQUESTS


def test_from_its_files_to_an_explained_request_in_three_commands(caddy: Logs, tmp_path: Path) -> None:
    store = f"chdb:{tmp_path / 'store'}"
    format_file = tmp_path / "caddy.toml"
    format_file.write_text('preset = "caddy"\n')
    lines = ("--requests", str(caddy.folder / "access.jsonl"), "--requests-format", str(format_file))
    quiclens("load", str(caddy.folder / "traces"), *lines, "--store", store)
    slow = quiclens("slow", "--limit", "1", "--store", store)
    assert slow["coverage"]["requests"] == CONNECTIONS * REQUESTS
    assert slow["coverage"]["traced"] >= LEAST_LINKED * CONNECTIONS * REQUESTS
    explained = quiclens("explain", slow["requests"][0]["request_id"], "--store", store)
    assert sum(part["us"] for part in explained["parts"]) == explained["duration_us"]
    assert explained["logged_duration_us"] is not None
    assert (slow["requests"][0]["method"], slow["requests"][0]["status"]) == ("GET", 200)
