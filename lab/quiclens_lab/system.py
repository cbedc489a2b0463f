"""`make up` and `make down`: the whole live system on this machine, and exactly that ended again.

A real server writes logs, the collector follows them into Kafka, `quiclens ingest` takes them into the embedded store,
which `quiclens serve` holds. What was started stands in `system.json`, with the command line by which it is told again.
"""

import argparse
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from quiclens_lab.errors import LabError
from quiclens_lab.machine import LAB, collector_binary

DEPLOY = LAB.parent / "deploy" / "local"
BIN = Path(sys.executable).parent
RECORD = "system.json"
PATIENCE_S = 30
STARTING_S = 180  # of a process on a machine that has much else to do
LISTEN = "127.0.0.1:8123"
METRICS = "127.0.0.1:9464"  # of ingest, and of the collector; other ports where these are taken
COLLECTOR_METRICS = "127.0.0.1:9465"
_EXEC_S = 0.5  # until a new process has the command line by which it is told


def up(
    folder: Path,
    listen: str,
    with_traffic: bool = True,
    deploy: Path = DEPLOY,
    measured: tuple[str, str] = (METRICS, COLLECTOR_METRICS),
) -> dict[str, Any]:
    """Start everything, with or without a server that writes, as `deploy` configures it; returns where it answers.

    `measured` is where ingest and the collector are to tell their metrics.
    Of a system that runs, only what has ended is started again.
    """
    folder = folder.resolve()
    if is_running(folder):
        answers: dict[str, Any] | None = _read(folder).get("answers")
        if answers is None:
            raise LabError(f"{folder} was stopped while it started; `make down`, then again")
        again(folder, "broker")
        revive(folder)
        return answers
    listen = _free(listen)
    for name in ("traffic/traces", "collector", "log"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "traffic" / "access.jsonl").touch()
    record: dict[str, Any] = {"processes": [], "broker": str(folder / "broker")}
    _write(folder, record)
    broker = _json([sys.executable, "-m", "quiclens_ingest.broker", "start", "--data", str(folder / "broker")])
    store = f"chdb:{folder / 'store'}"
    quiclens = str(BIN / "quiclens")
    _start(folder, record, "serve", [quiclens, "serve", "--store", store, "--listen", listen])
    _wait(f"http://{listen}/ping", folder, "serve")
    _json([quiclens, "migrate", "--store", store, "--json"])
    metrics = _free(measured[0], else_any=True)
    ingest = _configured(folder, deploy / "ingest.toml", broker["brokers"], metrics)
    # By its address, not by its folder: else ingest would take the folder over while serve is away.
    served = f"http://{listen}/default"
    _start(folder, record, "ingest", [quiclens, "ingest", "--config", str(ingest), "--store", served])
    watched = _free(measured[1], else_any=True)
    collector = _configured(folder, deploy / "collector.toml", broker["brokers"], watched)
    _start(folder, record, "collector", [str(collector_binary().resolve()), "run", str(collector)])
    record["answers"] = {
        "store": store,
        "serve": f"http://{listen}",
        "brokers": broker["brokers"],
        "metrics": f"http://{metrics}/metrics",
        "collector_metrics": f"http://{watched}/metrics",
        "logs": str(folder / "log"),
    }
    _write(folder, record)
    if with_traffic:
        traffic = ["live", "--out", str(folder / "traffic"), "--connections", "1000000", "--requests", "6"]
        _start(folder, record, "server", [str(BIN / "quiclens-lab"), *traffic, "--together", "3", "--pause-ms", "300"])
    _wait(f"http://{metrics}/healthz", folder, "ingest")
    started: dict[str, Any] = record["answers"]
    return started


def down(folder: Path) -> dict[str, Any]:
    """End what `up` started, the last first; returns what was ended."""
    folder = folder.resolve()
    if not (folder / RECORD).exists():
        return {"ended": []}
    record = _read(folder)
    ended = []
    for process in reversed(record["processes"]):
        if _is_ours(process):
            os.kill(process["pid"], signal.SIGTERM)
            _until_gone(process)
            ended.append(process["name"])
    stopped = subprocess.run(
        [sys.executable, "-m", "quiclens_ingest.broker", "stop", "--data", record["broker"]],
        capture_output=True,
        check=False,
    )
    if stopped.returncode == 0:
        ended.append("broker")
    (folder / RECORD).unlink()
    return {"ended": ended}


def pid_of(folder: Path, name: str) -> int:
    """The process of this name."""
    if name == "broker":
        running = _json([sys.executable, "-m", "quiclens_ingest.broker", "status", "--data", str(folder / "broker")])
        return int(running["pid"])
    return int(_newest(folder, name)["pid"])


def again(folder: Path, name: str) -> None:
    """Start a process that was killed or told to end, as it was started."""
    if name == "broker":
        _json([sys.executable, "-m", "quiclens_ingest.broker", "start", "--data", str(folder / "broker")])
        return
    before = _newest(folder, name)
    wait_until_ended(before["pid"])
    _start(folder, _read(folder), name, before["words"])


def wait_until_ended(pid: int) -> None:
    """A process holds its locks until its last thread is gone, which only its parent is told."""
    with suppress(ChildProcessError):
        os.waitpid(pid, 0)


def revive(folder: Path, leave: Collection[str] = ()) -> list[str]:
    """What a supervisor does: start again what has ended, but for `leave`; returns what that was."""
    names = dict.fromkeys(each["name"] for each in _read(folder)["processes"] if each["name"] not in leave)
    dead = [name for name in names if _has_ended(_newest(folder, name))]
    for name in dead:
        again(folder, name)
    return dead


def is_running(folder: Path) -> bool:
    """Whether anything of it that `up` started lives."""
    return (folder / RECORD).exists() and any(_is_ours(each) for each in _read(folder)["processes"])


def first_request(folder: Path, answers: dict[str, Any]) -> bool:
    """Wait until a traced request can be asked for; LabError when a process ends meanwhile, False when time does."""
    asked = f"{answers['serve']}/?query={quote('SELECT count() FROM requests WHERE trace_id IS NOT NULL')}"
    began = time.monotonic()
    while time.monotonic() - began < PATIENCE_S:
        for name in dict.fromkeys(each["name"] for each in _read(folder)["processes"]):
            _must_live(folder, name)
        with suppress(OSError), urllib.request.urlopen(asked, timeout=5) as answer:
            if int(answer.read()):
                return True
        time.sleep(0.5)
    return False


def end(folder: Path, name: str, how: signal.Signals) -> None:
    """End a process and wait until it is gone; one that has ended already is left alone."""
    if name == "broker":
        os.kill(pid_of(folder, name), how)
        return
    process = _newest(folder, name)
    if _is_ours(process):
        os.kill(process["pid"], how)
    wait_until_ended(process["pid"])


def beside(folder: Path, name: str, words: list[str]) -> None:
    """Start one more process of the system under a name of its own."""
    _start(folder, _read(folder), name, words)


def forget(folder: Path, name: str) -> None:
    """A process that has ended is none of the system's any more: nobody starts it again."""
    record = _read(folder)
    record["processes"] = [each for each in record["processes"] if each["name"] != name]
    _write(folder, record)


def _newest(folder: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(each for each in reversed(_read(folder)["processes"]) if each["name"] == name)
    return found


def _free(listen: str, else_any: bool = False) -> str:
    """The address if nobody listens there, a free port for port 0, so that a process may come back to it.

    LabError when it is taken and no other will do: asked before anything starts, for else another's store would answer.
    """
    host, _, port = listen.rpartition(":")
    try:
        with socket.create_server((host, int(port))) as taken:
            return f"{host}:{taken.getsockname()[1]}"
    except (OSError, ValueError) as error:
        if else_any:
            return _free(f"{host}:0")
        reason = getattr(error, "strerror", None) or error
        hint = 'another address: make up UP="--listen 127.0.0.1:8124"'
        raise LabError(f"cannot listen at {listen}: {reason}; {hint}") from error


def _configured(folder: Path, source: Path, brokers: str, metrics: str) -> Path:
    text = source.read_text()
    for mark, value in (("@DIR@", str(folder)), ("@BROKERS@", brokers), ("@METRICS@", metrics)):
        text = text.replace(mark, value)
    target = folder / source.name
    target.write_text(text)
    return target


def _start(folder: Path, record: dict[str, Any], name: str, words: list[str]) -> None:
    with (folder / "log" / f"{name}.log").open("ab") as log:
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder, start_new_session=True
        )
    record["processes"].append({"name": name, "pid": process.pid, "words": words, "started": time.time()})
    _write(folder, record)


def _is_ours(process: dict[str, Any]) -> bool:
    """The process lives and is what was started: a number may belong to another by now."""
    try:
        words = Path(f"/proc/{process['pid']}/cmdline").read_bytes().split(b"\0")
        state = Path(f"/proc/{process['pid']}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    wanted = [word.encode() for word in process["words"][1:]]
    return state != "Z" and all(word in words for word in wanted)


def _has_ended(process: dict[str, Any]) -> bool:
    """Its parent is told for certain; a process that has just begun has no command line yet to be known by."""
    try:
        return os.waitpid(process["pid"], os.WNOHANG)[0] != 0
    except ChildProcessError:
        return not _is_ours(process)


def _until_gone(process: dict[str, Any]) -> None:
    began = time.monotonic()
    while _is_ours(process):
        if time.monotonic() - began > PATIENCE_S:
            os.kill(process["pid"], signal.SIGKILL)
        time.sleep(0.05)


def _wait(url: str, folder: Path, name: str) -> None:
    """Return when the process answers; LabError when it ends or takes too long."""
    began = time.monotonic()
    while True:
        _must_live(folder, name)
        try:
            with urllib.request.urlopen(url, timeout=1):
                return
        except OSError as error:
            if time.monotonic() - began > STARTING_S:
                raise LabError(f"{url} does not answer: {error}; see {folder / 'log' / name}.log") from error
        time.sleep(0.2)


def _must_live(folder: Path, name: str) -> None:
    process = _newest(folder, name)
    if not _is_ours(process) and time.time() - process.get("started", 0) > _EXEC_S:
        log = folder / "log" / f"{name}.log"
        said = log.read_text(errors="replace").strip().splitlines()
        raise LabError(f"{name} has ended: {' '.join(said[-2:]) or 'without a word'}; see {log}")


def _json(words: list[str]) -> dict[str, Any]:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise LabError(f"{' '.join(words)}: {done.stderr.strip() or done.stdout.strip()}")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def _read(folder: Path) -> dict[str, Any]:
    record: dict[str, Any] = json.loads((folder / RECORD).read_text())
    return record


def _write(folder: Path, record: dict[str, Any]) -> None:
    (folder / RECORD).write_text(json.dumps(record, indent=1) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m quiclens_lab.system", description=__doc__)
    parser.add_argument("what", choices=["up", "down"])
    parser.add_argument("--dir", type=Path, default=Path("quiclens-live"), help="everything it writes")
    parser.add_argument("--listen", default=LISTEN, help="where the store answers")
    options = parser.parse_args()
    folder = options.dir.resolve()
    was_running = is_running(folder)
    try:
        answer = up(folder, options.listen) if options.what == "up" else down(folder)
        print(json.dumps(answer), flush=True)
        if options.what == "up":
            print(_next_steps(answer, first_request(folder, answer)), file=sys.stderr)
    except (LabError, OSError) as error:
        if options.what == "up" and not was_running:
            down(folder)
        print(f"quiclens: {error}", file=sys.stderr)
        return 3
    return 0


def _next_steps(answers: dict[str, Any], has_come: bool) -> str:
    store = shlex.quote(answers["store"])
    first = "requests arrive; ask:" if has_come else f"no request has come yet; see {answers['logs']}, then ask:"
    return f"""{first}
  .venv/bin/quiclens slow --store {store}
  .venv/bin/quiclens status --store {store} --brokers {answers["brokers"]}
  curl {answers["serve"]} --data-binary 'SELECT count() FROM requests'
`make down` ends it; the data stay"""


if __name__ == "__main__":
    sys.exit(main())
