"""`quiclens-lab freshness`: how old data are when they can be asked for, and how much of them goes through.

The live system under a steady rate; then ever higher rates, of it and of a plain pipeline on the same broker software
and engine; then what the collector costs the server that it watches.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from threading import Thread
from typing import Any

from quiclens_lab import progress, system
from quiclens_lab.errors import LabError
from quiclens_lab.freshness import processor
from quiclens_lab.freshness.a_million import a_million
from quiclens_lab.freshness.ladder import Series, Step, climb, step
from quiclens_lab.freshness.latency import latency
from quiclens_lab.freshness.templates import keep, templates
from quiclens_lab.freshness.watching import SeenRequest, WriterWatch
from quiclens_lab.judgement import Judgement
from quiclens_lab.machine import LAB

DEPLOY = LAB / "quiclens_lab" / "freshness"  # their configuration
PARTS = ("steady", "ladder", "plain", "latency")
RATE = 50_000  # events a second, at least
SECONDS = 60  # of the steady rate, at least
BAR_S = 3.0  # p99 of summaries and of events
# What two cores of an AMD EPYC did (`lab/bench-runs/2026-11-22-x86_64-2-cores`): no later version may do less there.
BAR_PER_SECOND = 129_000  # events that go through at most
BAR_CPU_S = 13.0  # processor time of a million events, of all processes
WARM_S = 15.0  # until the first connections have ended and as many begin as end
STEP_S = 20.0  # of a rate of the ladder that count
PATIENCE_S = 30.0
PROCESSES = ("broker", "serve", "ingest", "collector")


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Measure what was asked for and return the document."""
    began = os.getloadavg()
    judgement = Judgement("freshness", {"load_average_before": began})
    document = judgement.found
    with tempfile.TemporaryDirectory(prefix="quiclens-freshness-") as scratch:
        folder = Path(scratch)
        keep(templates(folder / "templates", 1), folder / "templates.pickle")
        parts = options.only or list(PARTS)
        if "steady" in parts or "ladder" in parts:
            document |= _ours(folder, parts, options.rate, options.seconds)
        if "plain" in parts:
            document["plain_ladder"] = _plain(folder)
        if "ladder" in parts and "plain" in parts:
            ours, plain = document["ladder"], document["plain_ladder"]
            document["share_of_plain"] = {
                "at_most_per_second": round(ours["at_most_per_second"] / plain["at_most_per_second"], 2),
                "processor": round(plain["cpu_s_per_million"] / ours["cpu_s_per_million"], 2),
            }
        if "latency" in parts:
            progress.say("the watched server's own latency")
            document["watched_server"] = latency(folder / "watched")
    document["load_average_after"] = os.getloadavg()
    judge(judgement, options.rate, options.seconds)
    return judgement.document(options.keep)


def _ours(folder: Path, parts: list[str], rate: int, seconds: float) -> dict[str, Any]:
    live = folder / "live"
    document: dict[str, Any] = {}
    places = system.up(live, "127.0.0.1:0", with_traffic=False, deploy=DEPLOY)
    try:
        if "steady" in parts:
            progress.say(f"{rate:,} events a second for {seconds:.0f} s")
            document["steady"] = _steady(folder, places["serve"], rate, seconds)
        if "ladder" in parts:
            document["ladder"] = climb(lambda asked, number: _step(folder, places["serve"], asked, number))
    finally:
        system.down(live)
    return document


def _words(folder: Path, rate: float, seconds: float, number: int) -> list[str]:
    writer = [sys.executable, "-m", "quiclens_lab.freshness.writer", str(folder / "templates.pickle")]
    numbers = ["--rate", str(rate), "--seconds", str(seconds), "--number", str(number)]
    return [*writer, str(folder / "live" / "traffic"), *numbers]


def _steady(folder: Path, url: str, rate: int, seconds: float) -> dict[str, Any]:
    """Freshness at one rate, after a warm-up, and what each process takes meanwhile."""
    watch = WriterWatch(url)
    pids = {name: system.pid_of(folder / "live", name) for name in PROCESSES}
    meter = processor.Meter(pids, WARM_S, seconds)
    began = time.time()
    watch.run(_words(folder, rate, WARM_S + seconds, 0), PATIENCE_S)
    used = meter.used()
    begin, end = began + WARM_S, began + WARM_S + seconds
    counted = [each for each in watch.requests if begin <= each.written_at < end]
    measured = step(rate, watch.written, watch.stored, begin, end, used)
    return {
        "events_per_second": {"asked": rate, "written": round(measured.written), "stored": round(measured.stored)},
        "seconds": seconds,
        "requests_measured": len(counted),
        "requests_never_seen": sum(each.is_waiting for each in counted),
        "streams_s": _ages(counted, "stream_at"),
        "events_s": _ages(counted, "events_at"),
        "bar_s": BAR_S,
        "cores": {name: round(each / seconds, 3) for name, each in used.items()},
        "cpu_s_per_million": dict(measured.cpu_s),
        "a_million_events": a_million(folder / "live" / "broker", url, watch.stored[-1][1]),
        "resident_mib": {name: processor.resident_mib(pid) for name, pid in pids.items()},
        "load_average": meter.load_average,
    }


def _ages(seen: list[SeenRequest], which: str) -> dict[str, float | None]:
    """Quantiles; None where they fall among what was not seen before patience ended."""
    found = [getattr(each, which) for each in seen]
    ages = sorted(math.inf if at is None else at - each.written_at for at, each in zip(found, seen, strict=True))
    places = {f"p{share}": ages[math.ceil(share / 100 * len(ages)) - 1] for share in (50, 90, 99, 100) if ages}
    return {name: None if math.isinf(age) else round(age, 3) for name, age in places.items()}


def judge(judgement: Judgement, rate: float, seconds: float) -> None:
    """Find out which bars are missed by what was measured, and what was not measured."""
    found = judgement.found
    for part, key in zip(PARTS, ("steady", "ladder", "plain_ladder", "watched_server"), strict=True):
        judgement.leave_out(key not in found, part)
    if steady := found.get("steady"):
        judgement.leave_out(rate < RATE, f"a steady rate of {rate:,.0f} events a second, not {RATE:,}")
        judgement.leave_out(seconds < SECONDS, f"{seconds:g} s at the steady rate, not {SECONDS}")
        for each in ("streams_s", "events_s"):
            p99 = steady[each].get("p99")
            judgement.want(p99 is not None and p99 <= BAR_S, f"p99 of {each}: {p99}, not at most {BAR_S}")
    if ladder := found.get("ladder"):
        most, cpu_s = ladder["at_most_per_second"], ladder["cpu_s_per_million"]
        judgement.want(most >= BAR_PER_SECOND, f"{most:,.0f} events a second at most, not {BAR_PER_SECOND:,}")
        judgement.want(cpu_s <= BAR_CPU_S, f"{cpu_s} CPU s a million events, not at most {BAR_CPU_S}")


def _step(folder: Path, url: str, asked: int, number: int) -> Step:
    """One rate of ours; what was left behind is waited for, so that the next one begins with nothing."""
    watch = WriterWatch(url)
    meter = processor.Meter({name: system.pid_of(folder / "live", name) for name in PROCESSES}, WARM_S, STEP_S)
    began = time.time()
    watch.run(_words(folder, asked, WARM_S + STEP_S, number + 1), PATIENCE_S)
    made = step(asked, watch.written, watch.stored, began + WARM_S, began + WARM_S + STEP_S, meter.used())
    progress.say(f"{made.as_json()}")
    return made


def _plain(folder: Path) -> dict[str, Any]:
    """The ladder of the plain pipeline."""
    data = folder / "plain-broker"
    words = [sys.executable, "-m", "quiclens_ingest.broker"]
    started = subprocess.run([*words, "start", "--data", str(data)], capture_output=True, check=True)
    broker = json.loads(started.stdout)
    brokers = broker["brokers"]
    plain = [sys.executable, "-m", "quiclens_lab.freshness.plain"]
    consuming = [*plain, "consume", "--brokers", brokers, "--store", str(folder / "plain-store")]
    try:
        with subprocess.Popen(consuming, stdout=subprocess.PIPE, text=True) as consumer:
            stored: list[tuple[float, int]] = []
            listening = Thread(target=_listen, args=(consumer, stored))
            listening.start()
            while not stored:
                if consumer.poll() is not None:
                    raise LabError("the plain consumer ended before it began")
                time.sleep(0.1)

            def measure(asked: int, number: int) -> Step:
                meter = processor.Meter({"broker": broker["pid"], "consumer": consumer.pid}, WARM_S, STEP_S)
                producing = [*plain, "produce", str(folder / "templates.pickle"), "--brokers", brokers]
                return _plain_step(producing, asked, number, stored, meter)

            try:
                return climb(measure)
            finally:
                consumer.terminate()
                listening.join()
    finally:
        subprocess.run([*words, "stop", "--data", str(data)], capture_output=True, check=True)


def _plain_step(
    words: list[str], asked: int, number: int, stored: list[tuple[float, int]], meter: processor.Meter
) -> Step:
    numbers = ["--rate", str(asked), "--seconds", str(WARM_S + STEP_S), "--number", str(number)]
    before = stored[-1][1]
    began = time.time()
    written: list[tuple[float, int]] = []
    with subprocess.Popen([*words, *numbers], stdout=subprocess.PIPE, text=True) as producer:
        _listen(producer, written)
    made = step(asked, written, stored, began + WARM_S, began + WARM_S + STEP_S, meter.used())
    until = time.monotonic() + PATIENCE_S
    while stored[-1][1] - before < written[-1][1] and time.monotonic() < until:
        time.sleep(0.2)
    progress.say(f"plain: {made.as_json()}")
    return made


def _listen(process: "subprocess.Popen[str]", series: list[tuple[float, int]]) -> Series:
    assert process.stdout is not None
    for line in process.stdout:
        said = json.loads(line)
        series.append((said["at"], said["count"]))
    return series
