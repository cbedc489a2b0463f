"""The page's commands, then: is every request whole, does every service run, do pages answer, is no secret told?"""

import asyncio
import re
import ssl
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from quiclens_lab.containers.composed import Composed, composed
from quiclens_lab.containers.images import ROOT, stand_ins
from quiclens_lab.containers.telling import among, in_images, proof
from quiclens_lab.errors import LabError
from quiclens_lab.judgement import Judgement
from quiclens_lab.live_client import client
from quiclens_lab.page_blocks import block, inline
from quiclens_lab.podman import Podman
from quiclens_lab.progress import say

CONNECTIONS, REQUESTS = 20, 10
PAGE = ROOT / "deploy" / "README.md"
_BLOCK, _TRY = "compose", "--profile try"
_SERVER, _PAGES = 8443, 8124
_PATIENCE_S = 180
_METRICS = {  # by whom; where, seen from the container of ingest, and what each of their metrics begins with
    "ingest": ("http://127.0.0.1:9464/metrics", "quiclens_ingest_"),
    "the collector": ("http://collector:9465/metrics", "quiclens_collector_"),
}
_CHECKS = {
    "ingest": "quiclens ingest --config /etc/quiclens/ingest.toml --check",
    "collector": "/usr/local/bin/quiclens-collector check /etc/quiclens/collector.toml",
}
_PATHS = ("/", "/requests", "/reports", "/working", "/api/v1/status")
_SWEPT = re.compile(r"dropped \d+ partitions")


def containers(base: Path, tools: Path, keep: bool) -> dict[str, Any]:
    """All of it; `passes` is false where something is missed. CannotTryError where nothing can be tried."""
    judgement = Judgement("containers")
    with tempfile.TemporaryDirectory(prefix="quiclens-containers-") as scratch:
        podman = Podman(Path(scratch))
        podman.knows_names()
        began = time.monotonic()
        with judgement.stage("images of others"):
            stand_ins(podman, base, Path(sys.executable).with_name("caddy"), Path(scratch))
            judgement.found["stand_ins_s"] = round(time.monotonic() - began, 1)
            with composed(podman, tools, Path(scratch)) as running:
                _look(judgement, running, podman, Path(scratch))
    return judgement.document(keep)


def _look(judgement: Judgement, running: Composed, podman: Podman, scratch: Path) -> None:
    """Run what the page says, and look at what comes of it."""
    commands = block(PAGE, _BLOCK)
    ups = [at for at, command in enumerate(commands) if command.endswith(" up --build --detach")]
    if len(ups) != 1:
        raise LabError(f"{len(ups)} commands of {PAGE.name} bring it up")
    before, after = commands[: ups[0]], commands[ups[0] + 1 :]
    said: dict[str, str] = {}
    began = time.monotonic()
    # Secrets are drawn first, as the page says: what a build takes by mistake is in the images then.
    for command in before:
        said[command] = running.do(command)
    running.plant()
    for command in (commands[ups[0]], inline(PAGE, _TRY)):
        with judgement.stage(command):
            said[command] = running.do(command)
    with judgement.stage("every service is well"):
        for name in running.active:
            if running.services[name].healthcheck:
                running.wait_until_well(name)
    judgement.found |= {"built_and_up_s": round(time.monotonic() - began, 1), "image_bytes": running.image_bytes}
    with judgement.stage("requests"):
        _requests(judgement, running)
    for command in after:
        with judgement.stage(command):
            said[command] = running.do(command)
    with judgement.stage("slow tells requests"):
        asked = running.question("slow")["coverage"]["requests"]
        judgement.want(asked == CONNECTIONS * REQUESTS, f"`slow` knows of {asked} requests")
    with judgement.stage("pages"):
        pages = {path: _asked(running, path)[0] for path in _PATHS}
        judgement.found["pages"] = pages
        for path, status in pages.items():
            judgement.want(status == 200, f"{path} answers {status}")
    with judgement.stage("services"):
        _services(judgement, running)
    with judgement.stage("secrets"):
        _secrets(judgement, running, podman, said, scratch)


def _requests(judgement: Judgement, running: Composed) -> None:
    """Ask over HTTP/3; every request must be stored with its trace, and nothing missing."""
    wanted = CONNECTIONS * REQUESTS
    say(f"containers: {wanted} requests over HTTP/3")
    asyncio.run(_ask())
    until = time.monotonic() + _PATIENCE_S
    while True:
        audit = running.question("audit")
        requests = {name: int(audit["coverage"][name]) for name in ("requests", "traced")}
        if min(requests.values()) >= wanted or time.monotonic() > until:
            break
        time.sleep(2)
    judgement.found |= {"requests": requests, "audit": audit["params"]}
    judgement.want(set(requests.values()) == {wanted}, f"of {wanted} requests there are {requests}")
    lost = {name: audit["params"][name] for name in ("missing", "doubled")}
    judgement.want(not any(lost.values()), f"audit finds {lost}")


async def _ask() -> None:
    for number in range(CONNECTIONS):
        await client(_SERVER, number, REQUESTS, 0.01)


def _services(judgement: Judgement, running: Composed) -> None:
    """Each runs, and was never started again; those that end have ended well; retention has swept."""
    found = {}
    for name in running.active:
        state = running.state(name)
        found[name] = state.status if state else "not there"
        wanted = ("exited" if running.services[name].ends else "running", 0, 0)
        is_so = state is not None and (state.status, state.exit_code, state.restarts) == wanted
        judgement.want(is_so, f"{name} is {state}, not {wanted[0]} without a restart: {running.logs(name)[-500:]}")
        if running.services[name].healthcheck:
            judgement.want(running.is_well(name), f"{name} is not well at the end")
    judgement.found["services"] = found
    swept = running.logs("retention")
    judgement.want(bool(_SWEPT.search(swept)), f"retention has not swept: {swept[-500:]}")


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


def _secrets(judgement: Judgement, running: Composed, podman: Podman, said: Mapping[str, str], scratch: Path) -> None:
    """No secret in logs, metrics, `check`, what commands and podman say, or in an image; and the search finds one."""
    secrets = running.secrets()
    judgement.want(len(secrets) > 8, f"only {sorted(secrets)} are secrets")
    texts = {f"the log of {name}": running.logs(name) for name in running.active}
    texts |= {f"`{command}`": text for command, text in said.items()}
    with judgement.stage("what commands say"):
        texts["migrate"] = running.run("migrate")
        texts["slow"] = running.run("quiclens", "slow")
        texts["audit"] = running.run("quiclens", "audit")
    with judgement.stage("metrics"):
        texts |= _metrics(running)
    with judgement.stage("checks"):
        for service, command in _CHECKS.items():
            texts[f"check of {service}"] = running.inside(service, *command.split())
    texts["podman inspect"] = running.inspected()
    for where, name in among(texts, secrets):
        judgement.miss(f"{where} tells the secret {name}")
    with judgement.stage("images"):
        for where, name in in_images(podman, secrets):
            judgement.miss(f"{where} has the secret {name}")
    with judgement.stage("the proof of the search"):
        for wrong in proof(podman, running.tree, secrets, scratch):
            judgement.miss(wrong)
    judgement.found |= {"secrets": len(secrets), "texts": sorted(texts)}
