"""What a collector beside it costs a server: its requests' times with and without one that follows its logs."""

import asyncio
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from quiclens_lab.machine import collector_binary

TURNS = 4  # with and without, one after the other, so that both meet the same machine
CONNECTIONS, REQUESTS, TOGETHER = 80, 6, 4


def latency(folder: Path) -> dict[str, Any]:
    """Medians over the turns of the p50 and p99 of what requests took beside the application's own time, ms."""
    turns: dict[str, list[dict[str, float]]] = {"without": [], "with": []}
    for number in range(TURNS):
        for name, measured in turns.items():
            place = folder / f"{name}-{number}"
            place.mkdir(parents=True)
            measured.append(_turn(place, name == "with"))
            shutil.rmtree(place)
    document: dict[str, Any] = {"requests_a_turn": CONNECTIONS * REQUESTS, "turns": turns}
    for name, measured in turns.items():
        document[name] = {key: _median([each[key] for each in measured]) for key in ("p50_ms", "p99_ms")}
    return document


def _turn(place: Path, is_followed: bool) -> dict[str, float]:
    traffic = place / "traffic"
    (traffic / "traces").mkdir(parents=True)
    (traffic / "access.jsonl").touch()
    config = place / "collector.toml"
    config.write_text(
        f'state_dir = "{place / "state"}"\ntraces = ["{traffic / "traces"}"]\n'
        f'[[access_log]]\npath = "{traffic / "access.jsonl"}"\n[sink]\nkind = "files"\nfolder = "{place / "out"}"\n'
    )
    following = (
        subprocess.Popen([collector_binary(), "run", config], stderr=subprocess.DEVNULL) if is_followed else None
    )
    try:
        words = [sys.executable, "-m", "quiclens_lab.freshness.latency", str(traffic)]
        done = subprocess.run(words, capture_output=True, check=True)
    finally:
        if following is not None:
            following.terminate()
            following.wait()
    measured: dict[str, float] = json.loads(done.stdout)
    return measured


def _median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


def main() -> None:
    """One turn of the server and its clients, as a process of its own."""
    from quiclens_lab.live import LiveTraffic, live
    from quiclens_lab.relay import Conditions
    from quiclens_lab.truth.quantiles import quantile, rounded

    folder = Path(sys.argv[1])
    asyncio.run(live(folder, "aioquic", LiveTraffic(CONNECTIONS, REQUESTS, TOGETHER, 0.01), Conditions()))
    thought = {line["external_id"]: int(line["path"].split("/")[2]) for line in _lines(folder / "access.jsonl")}
    took_ms = [(line["duration_us"] - thought[line["external_id"]]) / 1000 for line in _lines(folder / "client.jsonl")]
    print(json.dumps({f"p{each}_ms": rounded(quantile(took_ms, each / 100) or 0, 2) for each in (50, 99)}))


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


if __name__ == "__main__":
    main()
