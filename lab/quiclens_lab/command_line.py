"""The command `quiclens-lab`.

stdout is one JSON document; progress and errors go to stderr. Exit 0 done, 1 a check does not pass or broke (its
document says where), 2 usage, 3 cannot run: nothing was tried.
"""

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from quiclens_lab import progress
from quiclens_lab.damage.options import add_options as add_damage_options
from quiclens_lab.errors import CannotTryError, LabError
from quiclens_lab.judgement import BARS, broken
from quiclens_lab.relay import FAST_KBPS, Conditions
from quiclens_lab.scenarios import SCENARIOS, scenario_named
from quiclens_lab.servers import PROGRAMS
from quiclens_lab.truth.options import SEEDS, add_options

BAR_MISSED = 1
CANNOT_RUN = 3


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def parser() -> argparse.ArgumentParser:
    """The commands and their options."""
    top = argparse.ArgumentParser(prog="quiclens-lab", description="Traces of real QUIC stacks in virtual time.")
    commands = top.add_subparsers(dest="command", required=True)

    demo = commands.add_parser("demo", help="traffic of six carriers with its access log")
    demo.add_argument("--connections", type=_count, default=400)
    demo.add_argument("--client-traces", action="store_true", help="also write the clients' traces")

    one = commands.add_parser("one", help="one connection of a named scenario, both traces")
    one.add_argument("--scenario", required=True, choices=[each.name for each in SCENARIOS], metavar="NAME")
    one.add_argument("--without", action="store_true", help="also the run without the cause, below DIR/without")

    edge = commands.add_parser("operations", help="logs of hosts and of apps: misrouting, restarts, racing")
    edge.add_argument("--scenario", required=True, choices=["misroute", "restart", "racing"])
    edge.add_argument("--out", type=Path, required=True, metavar="DIR")
    edge.add_argument("--seed", type=int, default=1)

    large = commands.add_parser("size", help="lines, dependencies, commands, tables, options and metrics")
    large.add_argument("revisions", nargs="*", metavar="REVISION", help="commits beside the work tree")

    commands.add_parser("dependencies", help="licences, sources and hashes of all packages, beside dependencies.toml")

    listing = commands.add_parser("sbom", help="all packages as CycloneDX")
    listing.add_argument("--out", type=Path, required=True, metavar="FILE")

    releasing = commands.add_parser("release", help="all that is published of a version: wheels, deb, rpm, SBOM, sums")
    releasing.add_argument("--into", type=Path, required=True, metavar="DIR", help="an empty or missing folder")
    releasing.add_argument("--tools", type=Path, required=True, metavar="DIR", help="has bin/maturin and bin/nfpm")

    sized = commands.add_parser("sizing", help="cores, bandwidth and disks that a fleet needs, by what was measured")
    sized.add_argument("--servers", type=_count, help="your fleet instead of usual ones: how many servers")
    sized.add_argument("--requests", type=float, default=300.0, help="a second and server, the mean of a day")
    sized.add_argument("--traced", type=float, default=0.01, help="share of its connections that are traced, 0 to 1")

    starting = commands.add_parser("start-up", help="what does each command cost before it does anything?")
    starting.add_argument("--runs", type=_count, default=5, help="of each command; the cheapest counts")
    starting.add_argument("--keep", action="store_true", help="also write it to lab/bench-runs")

    locking = commands.add_parser("lockouts", help="is a lockout told, and do rows flow again when it is mended?")
    locking.add_argument("--rounds", type=_count, default=5, help="of each lock")
    locking.add_argument("--jobs", type=_count, default=3)
    locking.add_argument("--keep", action="store_true", help="also write it to lab/bench-runs")

    costing = commands.add_parser(
        "logging-cost", help="what its own logging costs a server, off, a share and all of it"
    )
    costing.add_argument("--server", action="append", default=[], metavar="NAME", help="this server alone; repeatable")
    costing.add_argument("--rounds", type=_count, default=5, help="of each server, all settings in each")
    costing.add_argument("--connections", type=_count, default=100, help="of a setting, in each round")
    costing.add_argument("--requests", type=_count, default=5, help="of each connection")
    costing.add_argument("--together", type=_count, default=2, help="connections at once")
    costing.add_argument("--share", type=float, default=0.01, help="of the connections, between off and all")
    costing.add_argument("--keep", action="store_true", help="also write it to lab/bench-runs")

    charting = commands.add_parser("kubernetes", help="do clusters take the Helm chart, and the programs what it says?")
    charting.add_argument("--tools", type=Path, required=True, metavar="DIR", help="with helm and kubernetes-validate")
    charting.add_argument("--keep", action="store_true", help="also write it to lab/bench-runs")

    composing = commands.add_parser("containers", help="do the images build, and does deploy/compose.yaml run?")
    composing.add_argument("--base", type=Path, required=True, metavar="DIR", help="keeps archives of images")
    composing.add_argument("--tools", type=Path, required=True, metavar="DIR", help="has bin/podman-compose")
    composing.add_argument("--keep", action="store_true", help="also write it to lab/bench-runs")

    installing = commands.add_parser("installed", help="is what `release` made enough for a Debian that has nothing?")
    installing.add_argument("--dist", type=Path, required=True, metavar="DIR", help="what `release` filled")
    installing.add_argument("--base", type=Path, required=True, metavar="FILE", help="the Debian; made where it is not")
    installing.add_argument("--keep", action="store_true", help="also write it to lab/bench-runs")

    stock = commands.add_parser("stock-servers", help="are servers as they are understood? runs the tests of each")
    stock.add_argument("--keep", action="store_true", help="also write it to lab/bench-runs")

    auditing = commands.add_parser("audit", help="known weaknesses of all packages")
    auditing.add_argument("--database", type=Path, metavar="DIR", help="advisories as OSV documents, or ZIPs of them")

    bench = commands.add_parser("bench-input", help="many server traces with at least N events in all")
    bench.add_argument("--events", type=_count, required=True, metavar="N")

    live = commands.add_parser("live", help="a real server and clients on loopback, whose logs grow while they run")
    live.add_argument("--out", type=Path, required=True, metavar="DIR")
    live.add_argument("--connections", type=_count, default=20)
    live.add_argument("--requests", type=_count, default=5, help="of each connection")
    live.add_argument("--together", type=_count, default=4, help="connections at once")
    live.add_argument("--pause-ms", type=int, default=100, help="between a connection's requests")
    live.add_argument("--server", choices=list(PROGRAMS), default="aioquic")
    live.add_argument("--loss", type=float, default=0.0, help="share of packets that the path loses, each way")
    live.add_argument("--delay-ms", type=float, default=0.0, help="of the path, each way")
    live.add_argument("--rate-kbps", type=_count, default=FAST_KBPS, help="of the path, each way")
    live.add_argument("--seed", type=int, default=1, help="of the losses")
    live.add_argument("--stay", action="store_true", help="serve until SIGTERM, also when all is answered")

    taking = commands.add_parser("collector-bench", help="memory and processor time of the collector")
    taking.add_argument("--connections", type=_count, default=5000, help="open at once, a file each")
    taking.add_argument("--active", type=_count, default=500, help="of which so many grow")
    taking.add_argument("--seconds", type=_count, default=30, help="for so long")
    taking.add_argument("--cpu-cap", type=float, default=0.0, help="cores; 0: none")

    many = commands.add_parser("many-files", help="does the collector start in seconds where it knows many logs?")
    many.add_argument("--files", type=_count, default=100_000)
    many.add_argument("--keep", action="store_true", help="also write it to lab/bench-runs")

    linking = commands.add_parser("link-bench", help="what a round of linking costs with a month behind it")
    linking.add_argument("--days", type=_count, default=30, help="behind it, linked; kept in .made for the next run")
    linking.add_argument("--a-day", type=_count, default=1_000_000, help="requests, lines and streams")
    linking.add_argument("--seconds", type=int, default=600, help="at a steady rate; 0: none")
    linking.add_argument("--rate", type=_count, default=3_000, help="requests a second")
    linking.add_argument("--keep", action="store_true", help="also write it to lab/bench-runs")

    racing = commands.add_parser("link-race", help="processes that link one store at once, killed at any statement")
    racing.add_argument("--kills", type=_count, default=1_000)
    racing.add_argument("--seed", type=int, default=1)
    racing.add_argument("--keep", action="store_true", help="also write it to lab/bench-runs")

    comparing = commands.add_parser("against", help="is the collector as fast as an older one?")
    comparing.add_argument("--collector", type=Path, required=True, metavar="FILE", help="the older one")
    comparing.add_argument("--events", type=_count, default=300_000, help="of each of three forms")
    comparing.add_argument("--runs", type=_count, default=11, help="of each of the two, in turns")
    comparing.add_argument("--keep", action="store_true", help="also write it to lab/bench-runs")

    striking = commands.add_parser("faults", help="strike at the live system and its files; nothing may be lost")
    striking.add_argument("--schedules", type=_count, default=3)
    striking.add_argument("--seed", type=int, default=1)
    striking.add_argument("--only", type=int, action="append", default=[], metavar="NUMBER", help="this schedule alone")
    striking.add_argument("--keep", action="store_true", help="also write it to lab/bench-runs")

    asking = commands.add_parser(
        "ask-bench", help="how long questions take with a month behind, and how many rows they read"
    )
    asking.add_argument("--requests", type=_count, default=1_000_000, help="of the day that is asked about")
    asking.add_argument("--events", type=_count, default=50_000_000, help="of that day")
    asking.add_argument("--days", type=_count, default=30, help="behind it, of a million requests each; kept in .made")
    asking.add_argument("--keep", action="store_true", help="also write it to lab/bench-runs")

    planting = commands.add_parser("planted", help="do the reports' intervals hold what was planted?")
    planting.add_argument("--samples", type=_count, default=1000, help="of each population; as many carriers")
    planting.add_argument("--seed", type=int, default=1)
    planting.add_argument("--keep", action="store_true", help="also write it to lab/truth-runs")

    linking = commands.add_parser("link", help="do requests find their streams? Retry, migration, 0-RTT, changed ids")
    linking.add_argument("--connections", type=_count, default=200)
    linking.add_argument("--seed", type=int, default=1)
    linking.add_argument(
        "--foreign-rows", type=int, default=0, help="also as rows of somebody else's table, among so many in all"
    )
    linking.add_argument("--keep", action="store_true", help="also write it to lab/bench-runs")
    fresh = commands.add_parser("freshness", help="how old data are when they can be asked for, at a steady rate")
    fresh.add_argument("--rate", type=_count, default=50_000, help="events a second")
    fresh.add_argument("--seconds", type=_count, default=60, help="at the steady rate, after a warm-up")
    fresh.add_argument("--only", nargs="+", choices=["steady", "ladder", "plain", "latency"], help="parts of it")
    fresh.add_argument("--keep", action="store_true", help="also write it to lab/bench-runs")

    standing = commands.add_parser("front", help="idle sockets and the largest answers beside a serve that must go on")
    standing.add_argument("--sockets", type=_count, default=2_000, help="that say nothing, or half of a request")
    standing.add_argument("--rows", type=_count, default=500_000, help="of a kilobyte, of each answer")
    standing.add_argument("--formats", nargs="+", default=[], metavar="NAME", help="of the answers; else all there are")
    standing.add_argument("--seconds", type=_count, default=30, help="at least so long")
    standing.add_argument("--keep", action="store_true", help="also write it to lab/bench-runs")

    questioning = commands.add_parser(
        "schema-cases", help="questions by chance, of every role, to a served store; goes on where it was"
    )
    questioning.add_argument("--cases", type=_count, default=100_000)
    questioning.add_argument("--keep", action="store_true", help="also write it to lab/bench-runs")

    damaging = commands.add_parser("damage", help="what damage to a log does to the answers, and is it admitted?")
    add_damage_options(damaging)

    limiting = commands.add_parser("limits", help="does any real log, or a server's, cross a limit of the collector?")
    limiting.add_argument("--folder", type=Path, nargs="+", default=[], metavar="DIR", help="logs; else all of the bar")
    limiting.add_argument("--connections", type=_count, default=20_000, help="of a server, open at once")
    limiting.add_argument("--demo", type=_count, default=200, help="connections of a demo, made and loaded too")
    limiting.add_argument("--keep", action="store_true", help="also write it to lab/bench-runs")

    visiting = commands.add_parser(
        "pages", help="every case of schema/vectors through every page, view and command; goes on where it was"
    )
    visiting.add_argument("--keep", action="store_true", help="also write it to lab/bench-runs")
    visiting.add_argument("--each", type=_count, default=1, metavar="N", help="only each N-th page and command")

    watching = commands.add_parser("watch", help="is a cell that became worse found, and how many reports are chance?")
    watching.add_argument("--runs", type=_count, default=200, help="windows in which every kind of change is planted")
    watching.add_argument("--windows", type=_count, default=2_016, help="of the week in which nothing changes")
    watching.add_argument("--rows", type=int, default=10_800_000, help="of the hour that is rolled up; 0: none")
    watching.add_argument("--seed", type=int, default=1)
    watching.add_argument("--keep", action="store_true", help="also write it to lab/bench-runs")

    siblings = commands.add_parser(
        "siblings", help="does what traced requests like it waited for tell what one without a trace did? Goes on"
    )
    siblings.add_argument(
        "--runs", type=_count, default=60, help="incidents, for each share of requests that is traced"
    )
    siblings.add_argument("--rate", type=float, default=300, help="requests a second")
    siblings.add_argument("--seed", type=int, default=1)
    siblings.add_argument("--keep", action="store_true", help="also write it to lab/bench-runs")

    planting = commands.add_parser(
        "incidents", help="is what became worse found, with who, since when, how many and what of? Goes on where it was"
    )
    planting.add_argument("--runs", type=_count, default=200, help="incidents, each kind in turn")
    planting.add_argument("--nothing", type=_count, default=2_016, help="hours in which nothing becomes worse")
    planting.add_argument("--rate", type=float, default=300.0, help="requests a second")
    planting.add_argument("--seed", type=int, default=1)
    planting.add_argument("--keep", action="store_true", help="also write it to lab/bench-runs")

    changing = commands.add_parser(
        "stack-changes", help="does `quiclens diff` find what a change of quic-go did? Goes on where it was"
    )
    changing.add_argument("--runs", type=_count, default=100, help="comparisons of each change and of two versions")
    changing.add_argument("--nothing", type=int, default=1_000, help="comparisons in which nothing changed")
    changing.add_argument("--no-versions", action="store_true", help="planted changes alone")
    changing.add_argument("--only", action="append", default=[], metavar="NAME", help="this change alone; repeatable")
    changing.add_argument("--jobs", type=_count, default=2, help="processes; changes no result")
    changing.add_argument("--keep", action="store_true", help="also write it to lab/bench-runs")

    fuzzing = commands.add_parser(
        "fuzz", help="coverage-guided fuzzing of all that reads foreign bytes; goes on where it was"
    )
    fuzzing.add_argument(
        "--target", nargs="+", action="extend", default=[], metavar="NAME", help="of all when none is named"
    )
    fuzzing.add_argument("--seconds", type=_count, default=60, help="of each target")
    fuzzing.add_argument(
        "--short",
        action="store_true",
        help="about two seconds of each, the same every time; Python's only where atheris is there",
    )
    fuzzing.add_argument("--plants", action="store_true", help="plant bugs in a copy, one by one: is each found?")
    fuzzing.add_argument("--only", nargs="+", default=[], metavar="PLANT", help="these plants alone")
    fuzzing.add_argument("--keep", action="store_true", help="also write it to lab/fuzz-runs")

    simulating = commands.add_parser(
        "simulation",
        help="the collector on a simulated machine that fails: is anything lost or doubled? goes on where it was",
    )
    simulating.add_argument("--schedules", type=_count, default=104_000)
    simulating.add_argument("--seconds", type=int, default=0, help="for at most so long; 0: as long as it takes")
    simulating.add_argument("--plants", action="store_true", help="plant bugs in a copy, one by one: is each found?")
    simulating.add_argument("--only", nargs="+", default=[], metavar="PLANT", help="these plants alone")
    simulating.add_argument("--keep", action="store_true", help="also write it to lab/simulation-runs")

    for command in (demo, one, bench):
        command.add_argument("--out", type=Path, required=True, metavar="DIR")
        command.add_argument("--seed", type=int, default=1)
        command.add_argument("--replace", action="store_true", help="remove an earlier run's files from DIR")
    judging = commands.add_parser("truth", help="is quiclens right? runs of known causes, judged and compared")
    judging.add_argument("--seeds", type=_count, default=SEEDS, help="runs of each scenario")
    add_options(judging)
    for command in (demo, judging, striking, simulating, damaging):
        command.add_argument(
            "--jobs", type=_count, default=min(2, os.cpu_count() or 1), help="processes; changes no result"
        )
    commands.add_parser("scenarios", help="list the scenarios")
    return top


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Do what the command says and return its JSON document."""
    if options.command == "scenarios":
        return {"scenarios": [{"name": each.name, "cause": each.cause, "says": each.says} for each in SCENARIOS]}

    if options.command == "operations":
        from quiclens_lab.operations.command import operations

        return operations(options.out, options.scenario, options.seed)

    if options.command == "truth":
        from quiclens_lab.truth.command import run as run_truth

        return run_truth(options)

    if options.command == "faults":
        from quiclens_lab.faults import faults, schedules_of

        chosen = schedules_of(options.schedules, options.seed, options.only)
        return faults(chosen, options.jobs, options.keep, progress.show)

    if options.command == "many-files":
        from quiclens_lab.many_files import many_files

        return many_files(options.files, options.keep)

    if options.command == "link-bench":
        from quiclens_lab.link_bench.command import link_bench

        return link_bench(options.days, options.a_day, options.seconds, options.rate, options.keep)

    if options.command == "link-race":
        from quiclens_lab.link_race import link_race

        return link_race(options.kills, options.seed, options.keep)

    if options.command == "damage":
        from quiclens_lab.damage.command import run as run_damage

        return run_damage(options)

    if options.command == "limits":
        from quiclens_lab.limits import limits

        return limits(options.folder, options.connections, options.demo, options.keep)

    if options.command == "pages":
        from quiclens_lab.pages import pages

        return pages(options.keep, options.each, progress.show)

    if options.command == "fuzz":
        if options.plants:
            from quiclens_lab.fuzzing.plants import planted as fuzz_planted

            return fuzz_planted(options.only, options.seconds, options.keep)
        from quiclens_lab.fuzzing.command import fuzz

        return fuzz(options.target, options.seconds, options.short, options.keep)

    if options.command == "simulation":
        if options.plants:
            from quiclens_lab.simulation.plants import planted as simulation_planted

            return simulation_planted(options.only, options.jobs, options.keep)
        from quiclens_lab.simulation.command import simulation

        return simulation(options.schedules, options.seconds, options.jobs, options.keep, progress.show)

    if options.command == "release":
        from quiclens_lab.release import release

        return release(options.into, options.tools)
    if options.command == "sizing":
        from quiclens_lab.sizing import Fleet, sizing

        asked = Fleet("asked", options.servers, options.requests, options.traced) if options.servers else None
        return sizing(asked)

    if options.command == "start-up":
        from quiclens_lab.start_up.command import start_up

        return start_up(options.runs, options.keep)

    if options.command == "lockouts":
        from quiclens_lab.lockouts.command import lockouts

        return lockouts(options.rounds, options.jobs, options.keep)
    if options.command == "logging-cost":
        from quiclens_lab.logging_cost.command import logging_cost
        from quiclens_lab.logging_cost.load import Load

        load = Load(options.connections, options.requests, options.together, options.share)
        return logging_cost(options.server, load, options.rounds, options.keep, progress.show)
    if options.command == "kubernetes":
        from quiclens_lab.kubernetes.command import kubernetes

        return kubernetes(options.tools, options.keep)
    if options.command == "containers":
        from quiclens_lab.containers.command import containers

        return containers(options.base, options.tools, options.keep)
    if options.command == "installed":
        from quiclens_lab.installed.command import installed

        return installed(options.dist, options.base, options.keep)
    if options.command == "stock-servers":
        from quiclens_lab.stock_servers.command import stock_servers

        return stock_servers(options.keep)
    if options.command in ("dependencies", "sbom", "audit"):
        from quiclens_lab.supply import command as supply

        if options.command == "sbom":
            return supply.sbom(options.out)
        return supply.audit(options.database) if options.command == "audit" else supply.dependencies()

    if options.command == "planted":
        from quiclens_lab.planted import planted

        return planted(options.samples, options.seed, options.keep)
    if options.command == "ask-bench":
        from quiclens_lab.ask_bench.command import ask_bench

        return ask_bench(options.requests, options.events, options.days, options.keep)
    if options.command == "size":
        from quiclens_lab.size import report

        try:
            return report(options.revisions)
        except LookupError as error:
            raise LabError(str(error)) from error
    if options.command == "against":
        from quiclens_lab.against import against

        return against(options.collector, options.events, options.runs, options.keep)
    if options.command == "collector-bench":
        from quiclens_lab.collector_bench import collector_bench

        return collector_bench(options.connections, options.active, options.seconds, options.cpu_cap)
    if options.command == "link":
        from quiclens_lab.link_check import link_check

        return link_check(options.connections, options.seed, progress.show, options.foreign_rows, options.keep)
    if options.command == "front":
        from quiclens_lab.front import front

        return front(options.sockets, options.rows, options.formats, options.seconds, options.keep, progress.show)
    if options.command == "schema-cases":
        from quiclens_lab.schema_cases import schema_cases

        return schema_cases(options.cases, options.keep, progress.show)
    if options.command == "watch":
        from quiclens_lab.watch import watch

        return watch(options.runs, options.windows, options.seed, options.rows, options.keep, progress.show)
    if options.command == "siblings":
        from quiclens_lab.siblings import siblings_bar

        return siblings_bar(options.runs, options.rate, options.seed, options.keep)
    if options.command == "incidents":
        from quiclens_lab.incidents import incidents

        return incidents(options.runs, options.nothing, options.rate, options.seed, options.keep)
    if options.command == "stack-changes":
        from quiclens_lab.stack_changes.command import stack_changes

        asked_versions = not options.no_versions
        return stack_changes(options.runs, options.nothing, asked_versions, options.only, options.jobs, options.keep)
    if options.command == "freshness":
        from quiclens_lab.freshness.command import run as run_freshness

        return run_freshness(options)

    if options.command == "live":
        from quiclens_lab.live import LiveTraffic, live

        traffic = LiveTraffic(options.connections, options.requests, options.together, options.pause_ms / 1000)
        conditions = Conditions(options.loss, options.delay_ms, options.rate_kbps, options.seed)
        return asyncio.run(live(options.out, options.server, traffic, conditions, options.stay))

    from quiclens_lab.demo import make_folder, prepare_folder

    prepare_folder(options.out, options.replace)
    if options.command == "bench-input":
        from quiclens_lab.bench_input import make_bench_input

        return make_bench_input(options.out, options.events, options.seed, progress.show).as_json()
    if options.command == "one":
        scenario = scenario_named(options.scenario)
        assert scenario is not None
        summary = make_folder([scenario.plan(options.seed)], options.out, with_client_traces=True)
        if options.without:
            beside = options.out / "without"
            prepare_folder(beside, options.replace)
            make_folder([scenario.without(options.seed)], beside, with_client_traces=True)
        injected = {"scenario": scenario.name, "cause": scenario.cause, "vantage": scenario.vantage}
        return {**injected, "stream_id": scenario.stream_id, **summary.as_json()}

    from quiclens_lab.demo_incident import with_incident
    from quiclens_lab.operations.command import operations_of_demo
    from quiclens_lab.population import population

    plans = with_incident(population(options.connections, options.seed), options.seed)
    summary = make_folder(
        plans, options.out, options.client_traces, options.jobs, with_h2_lines=True, progress=progress.show
    )
    return {**summary.as_json(), "operations_files": operations_of_demo(options.out, options.seed)}


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    try:
        document = run(options)
    except CannotTryError as error:
        return _cannot_run(error)
    except Exception as error:
        if options.command in BARS:
            document = broken(options, error)
        elif isinstance(error, LabError | OSError):
            return _cannot_run(error)
        else:
            raise
    print(json.dumps(document, default=str))
    return 0 if document.get("passes", True) else BAR_MISSED


def _cannot_run(error: Exception) -> int:
    print(f"quiclens-lab: {error}", file=sys.stderr)
    return CANNOT_RUN
