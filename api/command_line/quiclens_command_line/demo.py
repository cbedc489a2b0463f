"""The demo's steps: simulate, load, list, explain, export. Each is the command a user would type next."""

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from quiclens_schema.store import Store

from quiclens_questions.documents import TriageDocument
from quiclens_questions.failure import CannotRun
from quiclens_questions.slow import Slow, newest, slow
from quiclens_questions.triage import Triage, triage

LAB = "quiclens_lab"
_MARK = ".quiclens-demo"  # a folder with it may be emptied
# What a network team would want to see first: causes that a reader cannot guess from an access log.
_TELLING = (
    "loss_recovery",
    "pto",
    "cwnd_blocked",
    "stream_flow_control",
    "connection_flow_control",
    "stream_limit",
    "bandwidth",
    "scheduling",
    "amplification",
)

Row = Mapping[str, Any]


@dataclass(frozen=True)
class DemoPlaces:
    """Where the demo keeps its things."""

    folder: Path
    other_store: str = ""

    @property
    def traffic(self) -> Path:
        return self.folder / "traffic"

    @property
    def store(self) -> Path:
        return self.folder / "store"

    @property
    def store_url(self) -> str:
        return self.other_store or f"chdb:{self.store}"

    @property
    def access_log(self) -> Path:
        return self.traffic / "access.jsonl"

    @property
    def logs(self) -> list[Path]:
        """Of the servers' connections, and of what hosts and apps log beside them."""
        return [self.traffic / "server", self.traffic / "operations"]


def clear(places: DemoPlaces) -> None:
    """Forget an earlier demo; a folder that no demo made is left alone."""
    mark = places.folder / _MARK
    try:
        if places.folder.is_dir() and any(places.folder.iterdir()) and not mark.is_file():
            message = f"{places.folder} has files in it that no demo made"
            raise CannotRun("not_a_demo_folder", message, "choose another --dir, or remove it yourself")
        for folder in (places.traffic, places.store):
            if folder.is_dir():
                shutil.rmtree(folder)
        places.folder.mkdir(parents=True, exist_ok=True)
        mark.touch()
    except OSError as error:
        message = f"cannot make {places.folder}: {error.strerror}"
        raise CannotRun("cannot_write", message, "choose another --dir") from error


def simulate(places: DemoPlaces, connections: int, seed: int) -> Row:
    """Real QUIC stacks over a simulated network, by the lab's own command."""
    if find_spec(LAB) is None:
        raise CannotRun("no_lab", "the package quiclens-lab is not installed", "make setup")
    command = [sys.executable, "-m", LAB, "demo", "--out", str(places.traffic)]
    command += ["--connections", str(connections), "--seed", str(seed)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        raise CannotRun("lab_failed", f"quiclens-lab ended with code {done.returncode}", " ".join(command))
    summary: Row = json.loads(done.stdout)
    return summary


def slowest_by(store: Store, column: str) -> Row:
    return slow(store, Slow(limit=1, by=column))


def what_is_worse(store: Store) -> TriageDocument | None:
    """What has become worse in the demo; None where nothing was loaded."""
    ends = newest(store)
    return None if ends is None else triage(store, Triage(ends - timedelta(days=1), ends + timedelta(seconds=1)))


def worth_explaining(store: Store, worse: TriageDocument | None) -> Row | None:
    """The request that shows best what has become worse; else the slowest whose cause is in the network or in its
    limits; else the slowest that has a trace."""
    traced = [row for row in slow(store, Slow(limit=200))["requests"] if row["top_cause"] is not None]
    shown = [each["request_id"] for finding in (worse["findings"] if worse else ()) for each in finding["examples"]]
    worst = [row for name in shown for row in traced if row["request_id"] == name]
    telling = [row for row in traced if row["top_cause"] in _TELLING and row["coverage"] == "full"]
    return next(iter(worst or telling or traced), None)
