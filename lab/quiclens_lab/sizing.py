"""What a fleet needs, reckoned from what one machine measured.

`measured` reads kept documents of `freshness` and `link-bench`, `needs` multiplies, `tables` writes Markdown.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from quiclens_schema import topics
from quiclens_web.front.keep import Keep

from quiclens_lab.errors import CannotTryError
from quiclens_lab.machine import LAB
from quiclens_lab.markdown import table

PEAK = 2.0
"""The busiest hour, against the mean of a day; processors and bandwidth are for it."""
BUSY = 0.5
"""How much of a core may be in use at the peak."""
REPLICAS = 3
"""Of each topic, as `migrate --replicas 3` makes them."""
KEEP = Keep()
"""What `serve` keeps by default."""
DAY_S = 86_400
_MILLION = 1e6
_OF_LINES = ("request_lines", "request_versions", "rollup_versions", "dimension_versions")


@dataclass(frozen=True, slots=True)
class UnitCosts:
    """Of one event of a trace, and of one line of an access log; processor time in seconds, sizes in bytes."""

    events_per_request: float
    collector_cpu_s: float  # of an event, its share of lines included
    broker_cpu_s: float
    ingest_cpu_s: float
    store_cpu_s: float
    line_cpu_s: float  # of a line, in the store: stored, linked, counted
    event_topics: float  # bytes sent to the topics for an event, summaries included
    line_topics: float
    event_kept: float  # bytes that an event's row takes in the store
    event_summaries: float  # bytes of all other rows of traces, for an event
    line_kept: float  # bytes of a line, its request and what is counted of it


@dataclass(frozen=True, slots=True)
class Fleet:
    """Servers, each with so many requests a second (the mean of a day), a share of which is traced."""

    name: str
    servers: int
    requests: float
    traced: float


@dataclass(frozen=True, slots=True)
class Needs:
    """What a fleet needs: cores at the peak where half of each may be used, sizes with what retention keeps."""

    events_per_s: float
    lines_per_s: float
    collector_core_share: float  # of one core of each server, at the peak
    server_kb_per_s: float  # sent by each server, at the peak
    kafka_mb_per_s: float  # into all brokers at the peak, replicas included
    kafka_gb: float
    partitions: int
    ingest_cores: float
    store_cores: float
    store_gb: float
    link_cores: float  # a part of the store's: linking is one process


def measured(freshness: Mapping[str, Any], link_bench: Mapping[str, Any]) -> UnitCosts:
    """From documents that `--keep` kept; CannotTryError where one is older than the figures that this needs."""
    try:
        steady, line = freshness["steady"], link_bench["steady"]["cpu_s_per_million"] / _MILLION
        million, cpu = steady["a_million_events"], steady["cpu_s_per_million"]
    except KeyError as missing:
        raise CannotTryError(f"no {missing} in the documents: run freshness and link-bench with --keep") from missing
    tables, sent = million["tables"], million["topics"]
    lines_topic = topics.of_tables()["request_lines"].name
    lines = tables["request_lines"]["rows"]
    of_lines = sum(tables[name]["bytes"] for name in _OF_LINES if name in tables)
    all_bytes = sum(table["bytes"] for table in tables.values())
    lines_cpu_s = lines * line
    return UnitCosts(
        events_per_request=_MILLION / tables["streams"]["rows"],
        collector_cpu_s=cpu["collector"] / _MILLION,
        broker_cpu_s=cpu["broker"] / _MILLION,
        ingest_cpu_s=cpu["ingest"] / _MILLION,
        store_cpu_s=max(0.0, cpu["serve"] - lines_cpu_s) / _MILLION,
        line_cpu_s=line,
        event_topics=sum(size for name, size in sent.items() if name != lines_topic) / _MILLION,
        line_topics=sent[lines_topic] / lines,
        event_kept=tables["events"]["bytes"] / _MILLION,
        event_summaries=(all_bytes - of_lines - tables["events"]["bytes"]) / _MILLION,
        line_kept=of_lines / lines,
    )


FLEETS = (
    Fleet("one server, every connection traced", 1, 100, 1.0),
    Fleet("100 servers, 10 % traced", 100, 300, 0.1),
    Fleet("10,000 servers, 1 % traced", 10_000, 300, 0.01),
)
MANY_EVENTS = 30_000_000_000
"""A day, of servers that each trace 1 % of 300 requests a second."""


def fleets(costs: UnitCosts) -> list[Fleet]:
    """Usual ones: the last has as many servers as log `MANY_EVENTS` a day."""
    of_one = 300 * 0.01 * costs.events_per_request * DAY_S
    servers = math.ceil(MANY_EVENTS / of_one)
    return [*FLEETS, Fleet(f"30 billion events a day: {servers:,} servers, 1 % traced", servers, 300, 0.01)]


def needs(fleet: Fleet, costs: UnitCosts) -> Needs:
    """What a fleet needs."""
    lines = fleet.servers * fleet.requests
    events = lines * fleet.traced * costs.events_per_request
    sent = events * costs.event_topics + lines * costs.line_topics
    of = topics.of_tables()
    kept = events * costs.event_topics * of["events"].retention_hours
    kept += lines * costs.line_topics * of["request_lines"].retention_hours
    day = events * costs.event_kept * KEEP.events_days
    day += (events * costs.event_summaries + lines * costs.line_kept) * KEEP.summaries_days
    ingest = PEAK * events * costs.ingest_cpu_s / BUSY
    link = PEAK * lines * costs.line_cpu_s / BUSY
    return Needs(
        events_per_s=events,
        lines_per_s=lines,
        collector_core_share=PEAK * events * costs.collector_cpu_s / fleet.servers,
        server_kb_per_s=PEAK * sent / fleet.servers / 1e3,
        kafka_mb_per_s=PEAK * sent * REPLICAS / 1e6,
        kafka_gb=kept * 3600 * REPLICAS / 1e9,
        partitions=max(of["events"].partitions, math.ceil(ingest)),
        ingest_cores=ingest,
        store_cores=PEAK * events * costs.store_cpu_s / BUSY + link,
        store_gb=day * DAY_S / 1e9,
        link_cores=link,
    )


def tables(costs: UnitCosts) -> str:
    """What one event and one line cost, then each of the usual fleets, as Markdown."""
    made = [(fleet, needs(fleet, costs)) for fleet in fleets(costs)]
    unit = table(
        ("of a million", "collector", "Kafka", "ingest", "store", "sent", "on the store's disk"),
        [
            (
                f"events of traces ({costs.events_per_request:.0f} a request)",
                *(
                    f"{cpu * _MILLION:.1f} CPU s"
                    for cpu in (costs.collector_cpu_s, costs.broker_cpu_s, costs.ingest_cpu_s, costs.store_cpu_s)
                ),
                f"{costs.event_topics:.1f} MB",
                f"{costs.event_kept:.1f} MB, summaries {costs.event_summaries:.1f} MB",
            ),
            (
                "lines of access logs",
                *("with the events",) * 3,
                f"{costs.line_cpu_s * _MILLION:.0f} CPU s",
                f"{costs.line_topics:.0f} MB",
                f"{costs.line_kept:.0f} MB",
            ),
        ],
    )
    rows: list[tuple[str, ...]] = [
        (
            "events a second, requests a second",
            *(f"{need.events_per_s:,.0f}, {need.lines_per_s:,.0f}" for _, need in made),
        ),
        ("collector: of one core of a server", *(f"{need.collector_core_share * 100:.2g} %" for _, need in made)),
        ("each server sends", *(f"{need.server_kb_per_s:,.1f} kB/s" for _, need in made)),
        (f"Kafka: into its disks, {REPLICAS} replicas", *(f"{need.kafka_mb_per_s:,.1f} MB/s" for _, need in made)),
        ("Kafka: on its disks", *(_size(need.kafka_gb) for _, need in made)),
        (
            "partitions of `quic.events.v1`, and processes of ingest at most",
            *(f"{need.partitions}" for _, need in made),
        ),
        ("ingest", *(_cores(need.ingest_cores) for _, need in made)),
        ("store", *(_cores(need.store_cores) for _, need in made)),
        ("of which linking", *(_cores(need.link_cores) for _, need in made)),
        (
            f"store's disk, events {KEEP.events_days} days, all else {KEEP.summaries_days}",
            *(_size(need.store_gb) for _, need in made),
        ),
    ]
    return f"{unit}\n\n{table(('', *(fleet.name for fleet, _ in made)), rows)}\n"


def _cores(cores: float) -> str:
    return "a part of a core" if cores < 0.5 else f"{math.ceil(cores):,} cores"


def _size(gigabytes: float) -> str:
    return f"{gigabytes:,.1f} GB" if gigabytes < 1_000 else f"{gigabytes / 1_000:,.1f} TB"


def sizing(fleet: Fleet | None) -> dict[str, Any]:
    """The command: what this fleet needs, or else some that are usual, which `tables` shows as Markdown."""
    costs = kept_costs()
    if fleet is not None:
        return {"unit_costs": asdict(costs), "fleets": [asdict(fleet) | asdict(needs(fleet, costs))]}
    usual = [asdict(each) | asdict(needs(each, costs)) for each in fleets(costs)]
    return {"unit_costs": asdict(costs), "fleets": usual, "tables": tables(costs)}


def kept_costs(folder: Path = LAB / "bench-runs") -> UnitCosts:
    """Of the newest documents that were kept; CannotTryError where there is none."""
    newest = []
    for name in ("freshness.json", "link_bench.json"):
        kept = sorted(folder.glob(f"*/{name}"))
        if not kept:
            raise CannotTryError(f"no {name} in {folder}")
        newest.append(json.loads(kept[-1].read_text(encoding="utf-8")))
    return measured(*newest)
