"""`make bench`: how fast the hot paths are, beside a peer that reads the same files in the same run.

One JSON document on stdout. Rates are of the best of several runs, for other load on the machine only ever takes away;
compare ratios, not rates, between machines.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from quiclens_lab.bench_input import make_bench_input
from quiclens_lab.draws import digest
from quiclens_lab.long_connection import stretch, write_long_connection
from quiclens_lab.machine import collector_binary, commit, kept_folder, machine

HERE = Path(__file__).resolve().parent.parent
RUNS = 7
SHORT_REPETITIONS = 4  # of the stretch that a long connection repeats: eighty requests


def on_one_core(command: list[str]) -> dict[str, Any]:
    """Run a command on the first core that we may use; its stdout is one JSON object."""
    core = min(os.sched_getaffinity(0))
    done = subprocess.run(command, check=True, capture_output=True, preexec_fn=lambda: os.sched_setaffinity(0, {core}))
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def as_sequence(source: Path, folder: Path, reference_time: dict[str, str] | None) -> None:
    """The same traces as JSON-SEQ, the only form that the peer streams. Its versions disagree on the header alone:
    the newest insists on a reference time as an object, older ones refuse it."""
    folder.mkdir()
    for path in sorted(source.rglob("*.qlog")):
        trace = json.loads(path.read_text())["traces"][0]
        events = trace.pop("events")
        header = {"qlog_version": "0.3", "qlog_format": "JSON-SEQ", "trace": trace}
        if reference_time is not None:
            trace["common_fields"]["reference_time"] = reference_time
            trace["event_schemas"] = []
            header |= {"file_schema": "urn:ietf:params:qlog:file:sequential", "serialization_format": "JSON-SEQ"}
        with (folder / f"{path.stem}.sqlog").open("w") as file:
            for record in [header, *events]:
                file.write("\x1e" + json.dumps(record) + "\n")


def rate(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Events a second of the best and of the middle run."""
    rates = sorted(run["events"] / run["seconds"] for run in runs)
    typed = {"typed": runs[0]["typed"]} if "typed" in runs[0] else {}
    median = rates[len(rates) // 2]
    return {
        "events": runs[0]["events"],
        **typed,
        "best_per_second": round(rates[-1]),
        "median_per_second": round(median),
    }


def readers(collector: Path, peer: Path, contained: Path, sequence: Path, sequence_newest: Path) -> dict[str, Any]:
    """Parse, fold and encode by us, mere deserializing by the peer, in turns so that all meet the same machine."""
    commands = {
        "parse_fold_encode_contained": [str(collector), "bench", str(contained)],
        "parse_fold_encode_sequence": [str(collector), "bench", str(sequence)],
        "qlog_crate_0.18_deserialize": [str(peer), "newest", *map(str, sorted(sequence_newest.iterdir()))],
        "qlog_crate_0.15_deserialize": [str(peer), "until-2025", *map(str, sorted(sequence.iterdir()))],
    }
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in commands}
    for _ in range(RUNS):
        for name, command in commands.items():
            runs[name].append(on_one_core(command))
    document: dict[str, Any] = {name: rate(each) for name, each in runs.items()}
    ours = document["parse_fold_encode_sequence"]["best_per_second"]
    for version in ("0.18", "0.15"):
        peer_rate = document[f"qlog_crate_{version}_deserialize"]["best_per_second"]
        document[f"times_the_qlog_crate_{version}"] = round(ours / peer_rate, 2)
    peaks = [run["peak_kib"] for name in commands if name.startswith("parse") for run in runs[name]]
    document["collector_peak_mib"] = round(max(peaks) / 1024)
    return document


def long_connection(collector: Path, folder: Path, events: int) -> dict[str, Any]:
    """One connection with all the events beside many short ones with as many: state and speed must not depend on it."""
    part = stretch(5)
    repetitions = events // len(part.events)
    shorts = max(1, repetitions // SHORT_REPETITIONS)
    for name in ("long", "short"):
        (folder / name).mkdir()
    told, streams = write_long_connection(folder / "long" / "0.sqlog", part, repetitions, digest(1, "long").hex())
    for number in range(shorts):
        name = digest(1, "short", number).hex()
        write_long_connection(folder / "short" / f"{name}.sqlog", part, SHORT_REPETITIONS, name)
    runs: dict[str, list[dict[str, Any]]] = {"long": [], "short": []}
    for _ in range(3):
        for name, found in runs.items():
            found.append(on_one_core([str(collector), "bench", str(folder / name)]))
    rates = {name: rate(found) for name, found in runs.items()}
    return {
        "events": told,
        "streams": streams,
        "collector_peak_mib": round(max(run["peak_kib"] for run in runs["long"]) / 1024, 1),
        **rates,
        "times_as_fast_as_short_ones": round(rates["long"]["best_per_second"] / rates["short"]["best_per_second"], 2),
    }


def load(contained: Path, folder: Path) -> dict[str, Any]:
    """`quiclens load` into a fresh embedded store, and what the store then takes on disk."""
    store = f"chdb:{folder / 'store'}"
    quiclens = Path(sys.executable).parent / "quiclens"
    empty = _peak([str(quiclens), "migrate", "--store", f"chdb:{folder / 'empty'}", "--json"])
    started = time.monotonic()
    peak = _peak([str(quiclens), "load", str(contained), "--store", store, "--json"])
    seconds = time.monotonic() - started
    document = json.loads((folder / "answer.json").read_text())
    status = subprocess.run([str(quiclens), "status", "--store", store, "--json"], capture_output=True, check=False)
    disk = json.loads(status.stdout)["params"].get("disk_bytes")
    events = document["events"]
    return {
        "events": events,
        "seconds": round(seconds, 3),
        "events_per_second": round(events / seconds),
        "events_per_second_without_start": round(events / document["seconds"]),
        "disk_bytes_per_event": None if disk is None else round(disk / events, 2),
        "peak_mib_above_the_empty_engine": round((peak - empty) / 1024),
    }


def _peak(command: list[str]) -> int:
    """Run a command, keep its answer beside it, and give its largest resident size in KiB, children left out."""
    out = Path(command[command.index("--store") + 1].removeprefix("chdb:")).parent / "answer.json"
    script = (
        "import resource, subprocess, sys\n"
        "process = subprocess.Popen(sys.argv[2:], stdout=open(sys.argv[1], 'w'), stderr=subprocess.DEVNULL)\n"
        "peak = 0\n"
        "while process.poll() is None:\n"
        "    try:\n"
        "        lines = open(f'/proc/{process.pid}/status').read().splitlines()\n"
        "        peak = max([peak, *(int(line.split()[1]) for line in lines if line.startswith('VmHWM'))])\n"
        "        process.wait(0.02)\n"
        "    except (subprocess.TimeoutExpired, OSError):\n"
        "        pass\n"
        "print(peak)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(out), *command], check=True, capture_output=True)
    return int(done.stdout)


def build_peer() -> Path:
    """The peer, built by cargo into our target folder."""
    target = HERE.parent / "target" / "peers"
    manifest = HERE / "peers" / "Cargo.toml"
    command = [
        "cargo",
        "build",
        "--release",
        "--locked",
        "--quiet",
        "--manifest-path",
        str(manifest),
        "--target-dir",
        str(target),
    ]
    subprocess.run(command, check=True)
    return target / "release" / "quiclens-peers"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m quiclens_lab.bench", description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000, help="events of lab traffic to read")
    parser.add_argument("--long-events", type=int, default=5_000_000, help="events of the one long connection")
    parser.add_argument("--keep", action="store_true", help="also write lab/bench-runs/<date>-<machine>/result.json")
    options = parser.parse_args()
    collector = collector_binary()
    peer = build_peer()
    with tempfile.TemporaryDirectory(prefix="quiclens-bench-") as scratch:
        folder = Path(scratch)
        make_bench_input(folder / "contained", options.events, 1, lambda done, total: None)
        as_sequence(folder / "contained", folder / "sequence", None)
        epoch = {"clock_type": "system", "epoch": "1970-01-01T00:00:00.000Z"}
        as_sequence(folder / "contained", folder / "sequence_newest", epoch)
        document = {
            "machine": machine(),
            "commit": commit(),
            "readers": readers(collector, peer, folder / "contained", folder / "sequence", folder / "sequence_newest"),
            "long_connection": long_connection(collector, folder, options.long_events),
            "load": load(folder / "contained", folder),
        }
        shutil.rmtree(folder / "store", ignore_errors=True)
    print(json.dumps(document, indent=1))
    if options.keep:
        kept = kept_folder("bench-runs")
        (kept / "result.json").write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
