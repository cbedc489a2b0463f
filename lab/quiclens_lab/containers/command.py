"""Build, run, ask over HTTP/3, and look: is every request whole, do pages answer, is no secret told anywhere?"""

import asyncio
import ssl
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from quiclens_schema.version import VERSION

from quiclens_lab.containers.composed import Composed, composed
from quiclens_lab.containers.images import HERE, OURS, ours, stand_ins
from quiclens_lab.errors import LabError
from quiclens_lab.live_client import client
from quiclens_lab.machine import judged
from quiclens_lab.podman import Podman
from quiclens_lab.progress import say

CONNECTIONS, REQUESTS = 20, 10
_SERVER, _PAGES = 8443, 8124
_PATIENCE_S = 180
_SERVICES = ("ingest", "collector", "web", "retention", "server")
_METRICS = {  # by whom; where, seen from the container of ingest, and what each of their metrics begins with
    "ingest": ("http://127.0.0.1:9464/metrics", "quiclens_ingest_"),
    "the collector": ("http://collector:9465/metrics", "quiclens_collector_"),
}
_PATHS = ("/", "/requests", "/reports", "/working", "/api/status")


def containers(base: Path, tools: Path, keep: bool) -> dict[str, Any]:
    """All of it; `passes` is false where something is missed. CannotTryError where it cannot be tried."""
    missed: list[str] = []
    with tempfile.TemporaryDirectory(prefix="quiclens-containers-") as scratch:
        podman = Podman(Path(scratch))
        began = time.monotonic()
        stand_ins(podman, base, Path(sys.executable).with_name("caddy"), Path(scratch))
        sizes = ours(podman)
        built_s = round(time.monotonic() - began, 1)
        began = time.monotonic()
        with composed(podman, tools, Path(scratch), _SERVICES) as running:
            for service in ("ingest", "web"):
                running.wait_until_well(service)
            up_s = round(time.monotonic() - began, 1)
            say(f"containers: {CONNECTIONS * REQUESTS} requests over HTTP/3")
            asyncio.run(_ask())
            requests = _requests(running)
            audit = running.command("audit")["params"]
            pages = _pages(running)
            told = _told(running, podman)
    if requests != {"requests": CONNECTIONS * REQUESTS, "traced": CONNECTIONS * REQUESTS}:
        missed.append(f"of {CONNECTIONS * REQUESTS} requests there are {requests}")
    if (audit["missing"], audit["doubled"]) != (0, 0):
        missed.append(f"audit finds {audit}")
    missed += [f"{path} answers {status}" for path, status in pages.items() if status != 200]
    missed += [f"{where} tells the secret {name}" for where, name in told]
    for each in missed:
        say(f"containers: {each}")
    document = {
        "built_s": built_s,
        "up_s": up_s,
        "image_bytes": dict(sizes),
        "requests": requests,
        "audit": audit,
        "pages": pages,
        "missed": missed,
    }
    return judged("containers", document, not missed, keep)


async def _ask() -> None:
    for number in range(CONNECTIONS):
        await client(_SERVER, number, REQUESTS, 0.01)


def _requests(running: Composed) -> dict[str, int]:
    """How many requests are stored and how many of them have a trace; waits for all."""
    until = time.monotonic() + _PATIENCE_S
    while True:
        coverage = running.command("audit")["coverage"]
        found = {"requests": int(coverage["requests"]), "traced": int(coverage["traced"])}
        if min(found.values()) >= CONNECTIONS * REQUESTS or time.monotonic() > until:
            return found
        time.sleep(2)


def _pages(running: Composed) -> dict[str, int]:
    """What pages and API answer to whoever has the token."""
    return {path: _asked(running, path)[0] for path in _PATHS}


def _asked(running: Composed, path: str) -> tuple[int, str]:
    """The status and the text of an answer of web, over TLS of the authority that was made."""
    trust = ssl.create_default_context(cafile=str(running.deploy / "secrets" / "ca.pem"))
    token = (running.deploy / "secrets" / "web_token").read_text().strip()
    asked = urllib.request.Request(f"https://localhost:{_PAGES}{path}", headers={"Authorization": f"Bearer {token}"})
    try:
        with urllib.request.urlopen(asked, timeout=60, context=trust) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def _metrics(running: Composed) -> dict[str, str]:
    """What /metrics of every process tells; LabError where it tells nothing, since nothing is no proof."""
    ask = "import sys, urllib.request as u; print(u.urlopen(sys.argv[1], timeout=9).read().decode())"
    told = {who: (running.inside("ingest", "python3", "-c", ask, url), begin) for who, (url, begin) in _METRICS.items()}
    told["web"] = (_asked(running, "/metrics")[1], "quiclens_serve_")
    for who, (text, begin) in told.items():
        if begin not in text:
            raise LabError(f"/metrics of {who} has no {begin}…")
    return {f"/metrics of {who}": text for who, (text, _) in told.items()}


def _told(running: Composed, podman: Podman) -> list[tuple[str, str]]:
    """Where which secret can be read: in logs, metrics, `check`, podman's own words, images."""
    secrets = running.secrets()
    if len(secrets) < 8:
        raise LabError(f"only {sorted(secrets)} are secrets")
    texts = {f"the log of {service}": running.logs(service) for service in ("kafka", "clickhouse", *_SERVICES)}
    texts |= _metrics(running)
    texts["check of ingest"] = running.inside(
        "ingest", "quiclens", "ingest", "--config", "/etc/quiclens/ingest.toml", "--check"
    )
    texts["check of the collector"] = running.inside(
        "collector", "/usr/local/bin/quiclens-collector", "check", "/etc/quiclens/collector.toml"
    )
    texts["podman inspect"] = running.inspected()
    found = _among(texts, secrets)
    for name in OURS.values():
        with tempfile.NamedTemporaryFile(suffix=".tar") as archive:
            podman.do(
                [
                    "podman",
                    "image",
                    "save",
                    "--quiet",
                    f"--output={archive.name}",
                    f"{HERE}/{name}:{VERSION}",
                ]
            )
            content = Path(archive.name).read_bytes()
            found += [(f"the image {name}", secret) for secret, value in secrets.items() if value in content]
    return found


def _among(texts: Mapping[str, str], secrets: Mapping[str, bytes]) -> list[tuple[str, str]]:
    return [
        (where, name)
        for where, text in texts.items()
        for name, value in secrets.items()
        if any(line in text for line in value.decode().splitlines() if not line.startswith("-----"))
    ]
