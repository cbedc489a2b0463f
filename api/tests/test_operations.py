"""Operations as questions: how connections ended, packets on the wrong host, restarts and races, against counts of the
planted rows themselves."""

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from statistics import mean, median_low
from typing import Any

import pytest
from quiclens_schema import store as stores
from quiclens_schema.store import Store
from serve_process import start
from store_rows import fill
from test_widths import WIDTHS, is_whole

from quiclens_command_line.commands.report import VIEWS
from quiclens_command_line.show.written import comma_separated, markdown
from quiclens_questions.closes import WAYS_AT_MOST
from quiclens_questions.failure import UsageMistake
from quiclens_questions.races import ERRORS_AT_MOST
from quiclens_questions.report import Report, ReportQuestion
from quiclens_questions.reports import REPORTS, Options, asked_of

Row = dict[str, Any]
BEGIN = datetime(2026, 11, 19, 10, tzinfo=UTC)
_RANDOM = random.Random(5)
_OLD = {"version": 1, "analysis_version": 1, "trace_day": "2026-11-19"}


def log(connection_id: str, vantage: str = "server", begin: datetime = BEGIN, **more: Any) -> Row:
    kept = {"events_kept": "all", "event_probability": 1, "trace_probability": 1, "complete": True}
    own = {
        "connection_id": connection_id,
        "vantage": vantage,
        "trace_id": f"of {connection_id} {more.get('header', '')}",
    }
    return _OLD | kept | own | {"started_at": str(begin.replace(tzinfo=None))} | more


# How connections ended: reason, code, owner as the log has it, vantage, and whether that is an error.
WAYS = (
    ("idle_timeout", "", "local", "server", False),
    ("idle timeout of 30 s", "", "", "client", False),
    ("stateless_reset", "", "remote", "client", True),
    ("", "0x10c", "remote", "server", True),
    ("", "256", "local", "client", False),
    ("graceful shutdown", "", "remote", "client", False),
    ("crypto error", "0x12a", "local", "network", True),
    ("", "", "", "server", False),
)
CLOSED_BY = ("server", None, "server", "client", "client", "server", None, None)
CONNECTIONS = [
    log(
        f"c{number}",
        WAYS[way][3],
        close_reason=WAYS[way][0],
        close_code=WAYS[way][1],
        close_owner=WAYS[way][2],
        cluster=f"edge-{number % 3}",
        trace_probability=1 if number % 2 else 0.25,
        packets_sent=5,
        packets_received=5,
    )
    | {"way": way}
    for number in range(160)
    for way in [_RANDOM.choice((0, 0, *range(len(WAYS))))]
]
RARE = [
    log(f"rare {number}", close_reason=f"reason {number}", region="rare", packets_sent=1)
    for number in range(WAYS_AT_MOST + 9)
]

# Hosts: layout of connection ids, host id, cluster.
HOSTS = {
    "fra-1": (1, 0x1A01, "eu"),
    "fra-2": (1, 0x1A02, "eu"),
    "lax-1": (2, 0x050B01, "us"),
    "sin-1": (3, 0x09000C01, "ap"),
}
_FIELDS = {1: (16, 0), 2: (24, 6), 3: (32, 6)}  # bits of the host id, and those between it and the version


def names(server: str) -> str:
    """The hex of a connection id that names the host, written from its highest bit on; what follows is noise."""
    layout, host_id, _ = HOSTS[server]
    width, between = _FIELDS[layout]
    bits = (
        f"{layout:02b}{_RANDOM.getrandbits(between) if between else 0:0{between}b}"[: 2 + between]
        + f"{host_id:0{width}b}"
    )
    noise = "".join(_RANDOM.choice("01") for _ in range(64 - len(bits)))
    return f"{int(bits + noise, 2):016x}"


def event(of: Row, seq: int, at_s: float, name: str, **more: Any) -> Row:
    here = {name: of[name] for name in ("connection_id", "vantage", "trace_id", "trace_day")}
    return here | {"seq": seq, "time_us": round(at_s * 1e6), "name": name} | more


HOST_LOGS = {
    server: log(
        f"host:{server}",
        server=server,
        cluster=cluster,
        pop=server[:3],
        header=f'{{"trace": {{"common_fields": {{"host_id": {host_id}, "release": "1.0"}}}}}}',
    )
    for server, (_, host_id, cluster) in HOSTS.items()
}
LANDED = [
    (landed, _RANDOM.choice([each for each in HOSTS if each != landed]), _RANDOM.randrange(1, 5))
    for landed in HOSTS
    for _ in range(60)
]
RECEIVED = {"fra-1": 4_000, "fra-2": 3_000, "lax-1": 5_000, "sin-1": 2_000}
# Restarts: server, seconds after the beginning, and for each packet event: seconds since, name, trigger, packets.
RESTARTS = {"fra-1": 1_800, "lax-1": 3_580}  # the second 20 s before the hour is over
AROUND = [
    (-70, "host:packet_forwarded", "", 999),
    (-5, "quic:udp_datagrams_received", "", 40),
    (1, "host:packet_forwarded", "", 200),
    (1, "quic:packet_dropped", "cannot_forward", 7),
    (2, "host:forwarded_packet_received", "", 190),
    (30, "host:packet_forwarded", "", 100),
    (30, "host:forwarded_packet_received", "", 99),
    (200, "quic:packet_dropped", "connection_unknown", 3),
    (200, "host:stateless_reset_sent", "", 3),
    (290, "host:restart_ended", "", None),
    (301, "host:stateless_reset_sent", "", 50),
]


def host_events() -> Iterator[Row]:
    for server, of in HOST_LOGS.items():
        yield event(of, 0, 100, "quic:udp_datagrams_received", count=RECEIVED[server])
        for seq, (landed, meant, packets) in enumerate(LANDED):
            if landed == server:
                yield event(
                    of, 1 + seq, 90, "quic:packet_dropped", trigger="wrong_host", dcid=names(meant), count=packets
                )
        # Too late to be of the hour, and of no layout.
        yield event(of, 901, 3_700, "quic:packet_dropped", trigger="wrong_host", dcid=names("fra-1"), count=500)
        if server in RESTARTS:
            began = RESTARTS[server]
            yield event(of, 910, began, "host:restart_started", more={"release": '"2.0"'})
            for seq, (since, name, trigger, count) in enumerate(AROUND):
                yield event(of, 911 + seq, began + since, name, trigger=trigger, count=count)


# Races: winner, quic_us, tcp_us, error.
APPS = [
    log(f"client:{number}", "client", carrier=["Halden", "Vale"][number % 2], trace_probability=[1, 0.5][number % 2])
    for number in range(24)
]


def race(number: int) -> Row:
    kind = _RANDOM.choice(("won", "won", "late", "failed", "cancelled"))
    found: Row = {"winner": "quic" if kind == "won" else "tcp", "tcp_delay_us": 100_000, "kind": kind}
    if kind in ("won", "late"):
        found["quic_us"] = _RANDOM.randrange(20_000, 90_000)
    if kind != "won":
        found["tcp_us"] = _RANDOM.randrange(150_000, 300_000)
    if kind == "failed":
        found["quic_error"] = _RANDOM.choice(("handshake_timeout", "handshake_timeout", "idle_p99"))
    return found | {"app": number}


def family(number: int) -> Row:
    is_fired = _RANDOM.random() < 0.3
    return {
        "app": number,
        "protocol": _RANDOM.choice(("quic", "tcp")),
        "winner": _RANDOM.choice(("ipv4", "ipv6")),
        "timer_fired": is_fired,
        "winner_delay_us": 100_000 + number if is_fired and _RANDOM.random() < 0.6 else 0,
    }


RACES = [race(number) for number in range(24) for _ in range(1 + number % 5)]
FAMILIES = [family(number) for number in range(24) for _ in range(3)]
RARE_APP = log("client:rare", "client", region="rare")
RARE_ERRORS = [{"winner": "tcp", "quic_error": f"error {number}"} for number in range(ERRORS_AT_MOST + 5)]


def written(values: Row) -> dict[str, str]:
    """As the leftover fields of an event are kept: JSON by name."""
    return {
        name: f'"{value}"' if isinstance(value, str) else str(value).lower()
        for name, value in values.items()
        if name not in ("app", "kind")
    }


def app_events() -> Iterator[Row]:
    for seq, each in enumerate(RACES):
        yield event(APPS[each["app"]], seq, seq, "client:race_ended", more=written(each))
    for seq, each in enumerate(FAMILIES):
        yield event(APPS[each["app"]], 500 + seq, seq, "client:happy_eyeballs_ended", more=written(each))
    for seq, each in enumerate(RARE_ERRORS):
        yield event(RARE_APP, seq, seq, "client:race_ended", more=written(each))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    folder = tmp_path_factory.mktemp("operations") / "store"
    ended = [{name: value for name, value in each.items() if name != "way"} for each in CONNECTIONS]
    logs = [*ended, *RARE, *HOST_LOGS.values(), *APPS, RARE_APP]
    fill(folder, {"connections": logs, "events": [*host_events(), *app_events()]})
    served = start(folder, "--keep-events", "0", "--keep-summaries", "0")
    with stores.open(served.store_url) as opened:
        yield opened
    assert served.stop() == 0


def question(name: str, by: Sequence[str] = (), where: Sequence[str] = ()) -> ReportQuestion:
    return asked_of(name, by, where, (BEGIN, BEGIN + timedelta(hours=1)), Options(), datetime.now(UTC))


def report(store: Store, name: str, by: Sequence[str] = (), where: Sequence[str] = ()) -> Report:
    return REPORTS[name].answer(store, question(name, by, where))


def weighted(rows: Sequence[Row], hits: Sequence[bool]) -> float:
    weights = [1 / float(each["trace_probability"]) for each in rows]
    return sum(weight for weight, hit in zip(weights, hits, strict=True) if hit) / sum(weights)


def test_connections_ended_as_was_logged_each_for_as_many_as_it_stands_for(store: Store) -> None:
    found = report(store, "closes", where=["region="])
    rows = {(row["figure"], row["reason"], row["code"], row["closed_by"]): row for row in found.dicts()}
    assert found.samples == len(CONNECTIONS)
    for way, (reason, code, _, _, _) in enumerate(WAYS):
        row = rows.pop(("ended_by", reason, code, CLOSED_BY[way] or ""))
        hits = [each["way"] == way for each in CONNECTIONS]
        assert (row["connections"], row["samples"]) == (sum(hits), len(CONNECTIONS))
        assert row["share"] == pytest.approx(weighted(CONNECTIONS, hits), abs=1e-6)
        assert row["share_low"] < row["share"] < row["share_high"]
    ways = {
        "closes_logged": [True] * 7 + [False],
        "idle_timeouts": [True, True] + [False] * 6,
        "stateless_resets": [False, False, True] + [False] * 5,
        "errors": [way[4] for way in WAYS],
    }
    for figure, counts in ways.items():
        hits = [counts[each["way"]] for each in CONNECTIONS]
        row = rows.pop((figure, None, None, None))
        assert (row["connections"], row["share"]) == (sum(hits), pytest.approx(weighted(CONNECTIONS, hits), abs=1e-6))
    assert rows == {}


def test_connections_ended_by_any_column_of_theirs(store: Store) -> None:
    for row in report(store, "closes", ["cluster"], ["region="]).dicts():
        if row["figure"] == "idle_timeouts":
            of = [each for each in CONNECTIONS if each["cluster"] == row["cluster"]]
            hits = [each["way"] < 2 for each in of]
            assert (row["connections"], row["samples"]) == (sum(hits), len(of))
            assert row["share"] == pytest.approx(weighted(of, hits), abs=1e-6)


def test_rare_ways_to_end_are_counted_together(store: Store) -> None:
    rows = report(store, "closes", where=["region=rare"]).dicts()
    assert sum(row["figure"] == "ended_by" for row in rows) == WAYS_AT_MOST
    assert [row["connections"] for row in rows if row["figure"] == "ended_otherwise"] == [9]
    assert not any(row["figure"] == "ended_otherwise" for row in report(store, "closes", where=["region="]).dicts())


def cluster(server: str) -> str:
    return HOSTS[server][2]


def addressed(place: str, of: Callable[[str], str]) -> int:
    """Packets meant for a place: what its hosts received and was meant for them, and what others received of it."""
    own = sum(count for server, count in RECEIVED.items() if of(server) == place)
    others = sum(packets for landed, _, packets in LANDED if of(landed) == place)
    # The restarts' own counts are received too, whoever they were for.
    own += 40 * sum(of(server) == place for server in RESTARTS)
    return own - others + sum(packets for _, meant, packets in LANDED if of(meant) == place)


@pytest.mark.parametrize(("by", "of"), [((), cluster), (("cluster",), cluster), (("server",), str)], ids=str)
def test_packets_on_the_wrong_host_are_told_from_where_to_where(
    store: Store, by: tuple[str, ...], of: Callable[[str], str]
) -> None:
    planted: Counter[tuple[str, str]] = Counter()
    for landed, meant, packets in LANDED:
        planted[of(landed), of(meant)] += packets
    found = report(store, "misrouted", by)
    name = by[0] if by else "cluster"
    rows = {(row[f"landed_{name}"], row[f"meant_{name}"]): row for row in found.dicts()}
    assert {pair: row["packets"] for pair, row in rows.items()} == planted
    for (_, meant), row in rows.items():
        assert row["misrouted_share"] == pytest.approx(row["packets"] / addressed(meant, of))
        assert (
            row["first_at"] == row["last_at"] == (BEGIN + timedelta(seconds=90)).replace(tzinfo=row["first_at"].tzinfo)
        )
    counted = found.coverage
    assert (counted["hosts"], counted["packets_received"]) == (4, sum(RECEIVED.values()) + 80)
    assert found.samples == counted["packets_wrong_host"] == sum(packets for *_, packets in LANDED)
    # Of the second restart the hour has only the first 20 seconds.
    assert (counted["packets_connection_unknown"], counted["packets_dropped_otherwise"]) == (3, 14)


def test_where_chooses_the_hosts_on_which_packets_landed(store: Store) -> None:
    every = {(row["landed_server"], row["meant_server"]): row for row in report(store, "misrouted", ["server"]).dicts()}
    for row in report(store, "misrouted", ["server"], ["pop=lax"]).dicts():
        assert row["landed_server"] == "lax-1"
        assert row == every.pop((row["landed_server"], row["meant_server"]))
    assert "lax-1" not in {landed for landed, _ in every}
    assert report(store, "misrouted", where=["server=nowhere"]).rows == []


def test_restarts_have_what_lies_around_them_also_beyond_the_stretch(store: Store) -> None:
    found = report(store, "restarts")
    assert found.params["by"] == ["server", "cluster", "server_release", "began_at"]
    assert [row["server"] for row in found.dicts()] == ["lax-1", "fra-1"]  # the newest first
    assert found.samples == found.groups == 2
    for row in found.dicts():
        began = BEGIN + timedelta(seconds=RESTARTS[row["server"]])
        assert (row["server_release"], row["began_at"]) == ("2.0", f"{began:%Y-%m-%dT%H:%M:%S}.000000Z")
        assert row["restarts"] == 1 and row["took_us"] == 290_000_000
        assert (row["forwarded"], row["forwarded_received"], row["dropped"]) == (300, 289, 7)
        assert row["hop_lost_share"] == pytest.approx(11 / 300)
        assert (row["connection_unknown"], row["resets_sent"], row["received"]) == (3, 3, 40)


def test_restarts_by_the_time_since_they_began(store: Store) -> None:
    found = report(store, "restarts", ["since_start"])
    rows = {int(row["since_start"]): row for row in found.dicts()}
    assert list(rows) == list(range(-60, 300, 10)) and found.samples == 2
    for bin_s, row in rows.items():
        own = [each for each in AROUND if bin_s <= each[0] < bin_s + 10]
        for column, name in (("forwarded", "host:packet_forwarded"), ("resets_sent", "host:stateless_reset_sent")):
            assert row[column] == 2 * sum(count or 0 for _, event_name, _, count in own if event_name == name)
    (eu, us) = [
        row for row in report(store, "restarts", ["cluster", "since_start"]).dicts() if row["since_start"] == "0"
    ]
    assert (eu["cluster"], us["cluster"], eu["forwarded"], us["dropped"]) == ("eu", "us", 200, 7)
    (one,) = report(store, "restarts", ["pop"], ["pop=fra"]).dicts()
    assert (one["pop"], one["restarts"], one["forwarded"]) == ("fra", 1, 300)


def test_races_are_those_of_apps_each_for_as_many_as_it_stands_for(store: Store) -> None:
    found = report(store, "races", where=["region="])
    rows = {row["figure"]: row for row in found.dicts()}
    assert found.samples == len(RACES)
    of = [APPS[each["app"]] for each in RACES]
    shares = {"won_by_quic": "won", "quic_late": "late", "quic_failed": "failed", "quic_cancelled": "cancelled"}
    for figure, kind in shares.items():
        row = rows[figure]
        assert row["value"] == pytest.approx(weighted(of, [each["kind"] == kind for each in RACES]), abs=1e-6)
        assert (row["samples"], row["clusters"]) == (len(RACES), 24) and row["low"] < row["value"] < row["high"]
    for error in ("handshake_timeout", "idle_p99"):
        hits = [each.get("quic_error") == error for each in RACES]
        assert rows[f"quic_failed_with_{error}"]["value"] == pytest.approx(weighted(of, hits), abs=1e-6)
    for figure in ("quic", "tcp"):
        weights = [round(1 / APPS[each["app"]]["trace_probability"]) for each in RACES if f"{figure}_us" in each]
        values = [each[f"{figure}_us"] for each in RACES if f"{figure}_us" in each]
        repeated = [value for value, weight in zip(values, weights, strict=True) for _ in range(weight)]
        assert (rows[f"{figure}_p50"]["value"], rows[f"{figure}_p50"]["samples"]) == (median_low(repeated), len(values))
    assert rows["tcp_delay_p50"]["value"] == 100_000


def test_families_are_told_by_protocol(store: Store) -> None:
    rows = {row["figure"]: row for row in report(store, "races", ["carrier"], ["carrier=Halden"]).dicts()}
    for protocol in ("quic", "tcp"):
        own = [each for each in FAMILIES if each["protocol"] == protocol and each["app"] % 2 == 0]
        fired = sum(each["timer_fired"] for each in own)
        second = sum(each["winner_delay_us"] > 0 for each in own)
        assert rows[f"ipv6_of_{protocol}"]["value"] == pytest.approx(
            mean(each["winner"] == "ipv6" for each in own), abs=1e-6
        )
        assert rows[f"timer_fired_of_{protocol}"]["value"] == pytest.approx(fired / len(own), abs=1e-6)
        assert rows[f"second_won_of_{protocol}"]["value"] == pytest.approx(second / len(own), abs=1e-6)
        added = rows[f"added_mean_of_{protocol}"]
        assert added["value"] == round(mean(each["winner_delay_us"] for each in own)) and added["unit"] == "us"
        assert added["samples"] == len(own)


def test_rare_errors_are_counted_together(store: Store) -> None:
    rows = {row["figure"]: row for row in report(store, "races", where=["region=rare"]).dicts()}
    assert sum(figure.startswith("quic_failed_with_") for figure in rows) == ERRORS_AT_MOST
    assert rows["quic_failed_otherwise"]["value"] == pytest.approx(5 / (ERRORS_AT_MOST + 5))


def test_a_report_of_hosts_knows_columns_of_hosts_alone() -> None:
    for name, by, where in (
        ("misrouted", ["carrier"], []),
        ("misrouted", ["since_start"], []),
        ("misrouted", [], ["carrier=x"]),
        ("restarts", ["hour"], []),
        ("restarts", [], ["since_start=0"]),
        ("races", ["server"], []),
    ):
        with pytest.raises(UsageMistake, match="no column"):
            asked_of(name, by, where, (None, None), Options(), datetime.now(UTC))
    with pytest.raises(UsageMistake, match="closes"):
        asked_of("races", [], [], (None, None), Options(time_zone="UTC"), datetime.now(UTC))
    assert asked_of("closes", ["hour"], [], (None, None), Options(), datetime.now(UTC)).by == ("hour",)


@pytest.mark.parametrize(
    ("name", "by"),
    [
        ("closes", ["cluster"]),
        ("misrouted", []),
        ("misrouted", ["cluster", "server"]),
        ("restarts", []),
        ("restarts", ["cluster", "since_start"]),
        ("races", ["carrier"]),
    ],
    ids=str,
)
def test_a_table_of_operations_is_whole_at_any_width(store: Store, name: str, by: list[str]) -> None:
    found = report(store, name, by)
    assert found.rows
    parts = list(VIEWS[name](found, question(name, by)))
    for width in WIDTHS:
        is_whole(parts, width)
    assert len(comma_separated(found).splitlines()) == 1 + len(found.rows) and markdown(found).startswith(f"### {name}")


def test_without_a_stretch_all_of_time_is_told(store: Store) -> None:
    for name, samples in (("misrouted", sum(packets for *_, packets in LANDED) + 4 * 500), ("restarts", 2)):
        asked = asked_of(name, [], [], (None, None), Options(), datetime.now(UTC))
        assert REPORTS[name].answer(store, asked).samples == samples
    first, last = datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC)
    for name, samples in (("restarts", 2), ("races", len(RACES) + len(RARE_ERRORS))):
        asked = asked_of(name, [], [], (first, last), Options(), datetime.now(UTC))
        assert REPORTS[name].answer(store, asked).samples == samples
