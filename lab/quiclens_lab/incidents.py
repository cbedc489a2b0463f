"""`quiclens-lab incidents`: is a planted incident found by `triage`, with who, since when, how many and what of?

One day of requests is shared; an hour follows it, in which something becomes worse for some requests, so late that so
many of them are affected. The hour is drawn anew for each incident. A third of the requests are traced. What is
compared: the description (or another that holds for the same requests), the cause, the moment, the count.
"""

import random
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from quiclens_questions.documents import TriageFinding
from quiclens_questions.triage import Triage, triage
from quiclens_schema import store as stores
from quiclens_schema.migrate import migrate
from quiclens_schema.store import Store

from quiclens_lab.judgement import Judgement
from quiclens_lab.kept import RunLines
from quiclens_lab.machine import LAB, code_of
from quiclens_lab.progress import say

MADE = LAB.parent / ".made" / "incidents"
DAY = datetime(2026, 3, 4, tzinfo=UTC)
ENDS = DAY + timedelta(days=1, hours=1)
INCIDENTS, NOTHING, RATE, PEAK = 200, 2_016, 300, 3_000
"""Of the bar: incidents, windows of nothing, requests a second of the day and of the last ten minutes."""
CELLS = (30, 200, 900)
RIGHT, RIGHT_OF_KIND, HELD = 0.9, 0.7, 0.9
WIDEST = timedelta(minutes=4)
DENSE = 20 / 60  # affected a second, from which the interval must be so narrow
_CODE = ("api/questions/quiclens_questions", "lab/quiclens_lab/incidents.py")

TRACED = 33
"""Percent of the requests over QUIC, where nothing else is asked for."""

CARRIERS, CITIES, POPS, SERVERS, PATHS, DEVICES, VERSIONS = 12, 20, 4, 3, 8, 5, 4
_DRAWN = f"""
    number AS n,
    cityHash64(n, {{seed:UInt64}}, 1) AS one,
    cityHash64(n, {{seed:UInt64}}, 2) AS two,
    cityHash64(n, {{seed:UInt64}}, 3) AS three,
    concat('carrier ', toString(one % {CARRIERS})) AS carrier_name,
    concat('city ', toString(intDiv(one, 64) % {CITIES})) AS city_name,
    concat('pop', toString(intDiv(two, 8) % {POPS})) AS pop_name,
    concat(pop_name, '-', toString(intDiv(two, 64) % {SERVERS})) AS server_name,
    concat('/', toString(three % {PATHS})) AS path_name,
    concat('device ', toString(intDiv(three, 16) % {DEVICES})) AS device_name,
    toString(1 + intDiv(three, 128) % {VERSIONS}) AS app_name,
    if(intDiv(two, 512) % 5 = 0, 'h2', 'h3') AS protocol_name,
    intDiv(one, 8192) % 100 < {{traced:UInt8}} AND protocol_name = 'h3' AS is_traced,
    sqrt(-2 * log((cityHash64(n, {{seed:UInt64}}, 11) % 1000003 + 1) / 1000004)) AS radius,
    radius * cos(2 * pi() * (cityHash64(n, {{seed:UInt64}}, 12) % 1000003) / 1000003) AS z,
    toDateTime64({{since:DateTime('UTC')}}, 6, 'UTC')
        + toIntervalMicrosecond(toUInt64(n * {{length_s:UInt32}} * 1e6 / {{rows:UInt64}})) AS at,
    at >= {{began:DateTime('UTC')}} AND (/* who */) AS is_hit,
    60000. * (1 + one % 4) * (1 + three % 4) * exp(0.7 * z) AS usual_us
"""
_ROWS = f"""
INSERT INTO request_versions
    (request_id, started_hour, started_at, connection_id, user_hash, source, link, coverage, weight, trace_weight,
     complete, duration_us, end_is, carrier, city, pop, server, server_release, stack, stack_version, protocol, path,
     device, app_version, arm, status, cwnd_blocked_us, loss_recovery_us, server_think_us, network_us, top_cause)
WITH {_DRAWN}
SELECT
    concat(toString({{seed:UInt64}}), '-', toString(n)),
    toStartOfHour(at),
    at,
    concat('c', toString(cityHash64(intDiv(n, 3), {{seed:UInt64}}, 5))),
    concat('u', toString(cityHash64(intDiv(n, 4), {{seed:UInt64}}, 6))),
    'log',
    'id',
    if(is_traced, 'full', 'none'),
    1,
    is_traced,
    true,
    toUInt64(if(is_hit, /* how */, usual_us)) AS took,
    if(is_hit AND /* fails */, 'reset', 'fin'),
    carrier_name,
    city_name,
    pop_name,
    server_name,
    if(/* release */, '2.0', '1.9'),
    'quiche',
    if(/* stack */, '0.31', '0.30'),
    protocol_name,
    path_name,
    device_name,
    app_name,
    {{slowed:Bool}} AND is_hit AND took > 2 * usual_us ? 'slowed' : NULL,
    200,
    if(is_traced AND is_hit AND {{cause:String}} = 'cwnd_blocked', took - usual_us, 0),
    if(is_traced AND is_hit AND {{cause:String}} = 'loss_recovery', took - usual_us, 0),
    if(is_traced AND is_hit AND {{cause:String}} = 'server_think', took - usual_us, 0),
    if(is_traced, if(is_hit AND {{cause:String}} != '', usual_us, took), 0),
    'network'
FROM numbers({{rows:UInt64}})
"""

Row = dict[str, Any]


@dataclass(frozen=True)
class Incident:
    """What is planted: which requests, what happens to them, and the descriptions that are right."""

    kind: str
    who: str
    share: float  # of all requests
    right: tuple[frozenset[tuple[str, str]], ...]
    how: str = "usual_us * 2.5"
    fails: str = "0"
    cause: str = "cwnd_blocked"
    release: str = "0"
    stack: str = "0"


def kinds(chance: random.Random) -> Iterator[Incident]:
    """One of each kind, of values that chance picks."""
    carrier, city = f"carrier {chance.randrange(CARRIERS)}", f"city {chance.randrange(CITIES)}"
    pop, path = f"pop{chance.randrange(POPS)}", f"/{chance.randrange(PATHS)}"
    server, app = f"{pop}-{chance.randrange(SERVERS)}", str(1 + chance.randrange(VERSIONS))
    device = f"device {chance.randrange(DEVICES)}"

    def one(kind: str, name: str, column: str, value: str, share: float, **more: Any) -> Incident:
        return Incident(kind, f"{name} = '{value}'", share, (frozenset({(column, value)}),), **more)

    yield one("carrier", "carrier_name", "carrier", carrier, 1 / CARRIERS)
    yield one("city", "city_name", "city", city, 1 / CITIES)
    yield one("point of presence", "pop_name", "pop", pop, 1 / POPS)
    yield one("server", "server_name", "server", server, 1 / POPS / SERVERS)
    yield one("path", "path_name", "path", path, 1 / PATHS, cause="server_think")
    yield one("device", "device_name", "device", device, 1 / DEVICES)
    yield one("app version", "app_name", "app_version", app, 1 / VERSIONS)
    yield one("protocol", "protocol_name", "protocol", "h2", 1 / 5, cause="")
    yield one("cause", "carrier_name", "carrier", carrier, 1 / CARRIERS, cause="loss_recovery")
    yield one(
        "only the tail",
        "pop_name",
        "pop",
        pop,
        1 / POPS,
        how="if(intDiv(three, 4096) % 20 = 0, usual_us * 30, usual_us)",
    )
    yield one(
        "failures", "server_name", "server", server, 1 / POPS / SERVERS, how="usual_us", fails="two % 7 = 0", cause=""
    )
    releases = (frozenset({("server_release", "2.0")}), frozenset({("server", server)}))
    rolled = f"server_name = '{server}' AND at >= {{began:DateTime('UTC')}}"
    yield Incident("release", f"server_name = '{server}'", 1 / POPS / SERVERS, releases, release=rolled)
    stacks = (frozenset({("stack_version", "0.31")}), frozenset({("pop", pop)}))
    yield Incident(
        "stack version",
        f"pop_name = '{pop}'",
        1 / POPS,
        stacks,
        stack=f"pop_name = '{pop}' AND at >= {{began:DateTime('UTC')}}",
    )
    for kind, name, column, value in (
        ("carrier on a server", "server_name", "server", server),
        ("carrier in a city", "city_name", "city", city),
    ):
        share = 1 / CARRIERS / (POPS * SERVERS if column == "server" else CITIES)
        both = (frozenset({("carrier", carrier), (column, value)}),)
        yield Incident(kind, f"carrier_name = '{carrier}' AND {name} = '{value}'", share, both)


@dataclass(frozen=True)
class Tried:
    """What came of one incident: of which kind and cell, what of it was right, and what was told."""

    number: int
    kind: str
    cell: int
    findings: int
    who: bool
    cause: bool
    held: bool
    narrow: bool
    counted: bool
    said: list[str] = field(default_factory=list)


def incidents(runs: int, nothing: int, rate: float, seed: int, keep: bool, folder: Path | None = MADE) -> Row:
    """Plant so many incidents, each kind in turn in cells of each size, and draw so many hours of nothing."""
    judgement = Judgement("incidents", {"incidents": runs, "nothing": nothing, "rate": rate, "seed": seed})
    judgement.least("incidents", INCIDENTS, runs)
    judgement.least("hours of nothing", NOTHING, nothing)
    judgement.least("requests a second", RATE, rate)
    judgement.least("requests a second in the last ten minutes", PEAK, rate)
    kept = RunLines(folder, f"{code_of(LAB.parent, _CODE)}-{rate:g}-{seed}.jsonl", Tried)
    tried = {each.number: each for each in kept.read()}
    with TemporaryDirectory(prefix="quiclens-incidents-") as place, stores.open(f"chdb:{place}/store") as store:
        migrate(store)
        draw(store, rate, seed, DAY, 86_400, None, DAY + timedelta(days=9))
        for number in [*range(runs), *range(-nothing, 0)]:
            if number not in tried:
                tried[number] = _try(store, number, rate, seed)
                kept.add(tried[number])
                say(f"incidents: {len(tried)} of {runs + nothing}: {tried[number]}")
    chosen = [each for number, each in tried.items() if -nothing <= number < runs]
    judgement.found |= judged(chosen, judgement)
    return judgement.document(keep)


def judged(tried: list[Tried], judgement: Judgement) -> Row:
    """Shares of what was right, for cells of 200 requests and more."""
    planted = [each for each in tried if each.kind != "nothing"]
    large = [each for each in planted if each.cell >= 200]
    right = Counter(each.kind for each in large if each.who and each.cause)
    of = Counter(each.kind for each in large)
    told = [each for each in large if each.who]
    false = sum(each.findings for each in tried if each.kind == "nothing")
    found: Row = {
        "who_and_cause": _share(sum(right.values()), len(large)),
        "by_kind": {kind: f"{right[kind]} of {many}" for kind, many in sorted(of.items())},
        "since_held": _share(sum(each.held for each in told), len(told)),
        "too_wide": sum(not each.narrow for each in told),
        "counted_wrongly": sum(not each.counted for each in told),
        "of_30_found": _share(sum(each.who for each in planted if each.cell < 200), len(planted) - len(large)),
        "more_than_one": sum(each.findings > 1 for each in large),
        "false_in_nothing": false,
    }
    if large:
        judgement.want(
            found["who_and_cause"] >= RIGHT, f"who and cause: {found['who_and_cause']:.1%}, at least {RIGHT:.0%}"
        )
        for kind, many in of.items():
            judgement.want(right[kind] >= RIGHT_OF_KIND * many, f"{kind}: {right[kind]} of {many}")
        judgement.want(found["since_held"] >= HELD, f"the interval of the moment holds in {found['since_held']:.1%}")
        judgement.want(not found["too_wide"], f"{found['too_wide']} intervals are wider than {WIDEST}")
        judgement.want(not found["counted_wrongly"], f"{found['counted_wrongly']} counts are not those of the rows")
    judgement.want(false <= 1, f"{false} findings in hours of nothing")
    return found


def _share(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0


def draw(
    store: Store,
    rate: float,
    seed: int,
    since: datetime,
    length_s: int,
    incident: Incident | None,
    began: datetime,
    traced: int = TRACED,
    slowed: bool = False,
) -> None:
    """Add requests of so many seconds, `traced` percent of those over QUIC with a trace. With `slowed`, those whose
    largest part is what was planted are told by their `arm`."""
    planted = incident or Incident("nothing", "0", 0, ())
    text = _ROWS
    for mark in ("who", "how", "fails", "release", "stack"):
        text = text.replace(f"/* {mark} */", getattr(planted, mark))
    given = {"since": f"{since:%Y-%m-%d %H:%M:%S}", "began": f"{began:%Y-%m-%d %H:%M:%S}", "length_s": length_s}
    store.command(
        text,
        {
            **given,
            "rows": round(rate * length_s),
            "seed": seed,
            "cause": planted.cause,
            "traced": traced,
            "slowed": slowed,
        },
    )


def began_of(incident: Incident, affected: int, rate: float, ends: datetime) -> datetime:
    """When it must have begun to touch so many requests until then; less than an hour before."""
    affected_s = min(3_300.0, affected / (incident.share * rate))
    return (ends - timedelta(seconds=affected_s)).replace(microsecond=0)


def forget(store: Store, day: datetime) -> None:
    """Remove the requests of a day."""
    store.command("ALTER TABLE request_versions DROP PARTITION {day:Date}", {"day": f"{day:%Y-%m-%d}"})


def _try(store: Store, number: int, rate: float, seed: int) -> Tried:
    chance = random.Random(seed * 1_000_003 + number)
    every = list(kinds(chance))
    incident, cell = (None, 0) if number < 0 else (every[number % len(every)], CELLS[number // len(every) % len(CELLS)])
    begins = DAY + timedelta(days=1)
    began = ENDS
    if incident is not None:
        began = began_of(incident, cell, rate, ENDS)
    forget(store, begins)
    draw(store, rate, seed + 1 + abs(number) * 2 + (number < 0), begins, 3_600, incident, began)
    hours = chance.choice((1, 3, 12, 24))
    findings = triage(store, Triage(ENDS - timedelta(hours=hours), ENDS))["findings"]
    said = [each["sentence"] for each in findings]
    if incident is None or not findings:
        kind = incident.kind if incident else "nothing"
        return Tried(number, kind, cell, len(findings), False, False, False, False, False, said)
    first = findings[0]
    dense = cell / max(1.0, (ENDS - began).total_seconds()) >= DENSE
    return Tried(
        number,
        incident.kind,
        cell,
        len(findings),
        frozenset((each["attribute"], each["value"]) for each in first["conditions"]) in incident.right,
        not incident.cause or first["cause"] == incident.cause,
        first["since_low"] <= began <= first["since_high"],
        not dense or first["since_high"] - first["since_low"] <= WIDEST,
        first["requests"] == _recounted(store, first),
        said,
    )


def _recounted(store: Store, finding: TriageFinding) -> int:
    given: Mapping[str, Any] = {f"v{at}": each["value"] for at, each in enumerate(finding["conditions"])}
    holds = " AND ".join(f"{each['attribute']} = {{v{at}:String}}" for at, each in enumerate(finding["conditions"]))
    sql = f"SELECT count() FROM requests WHERE started_at >= {{since:DateTime('UTC')}} AND ({holds or '1'})"
    return int(store.query(sql, {**given, "since": f"{finding['since']:%Y-%m-%d %H:%M:%S}"}).one()[0])
