"""Operations that are easily told wrong: a close that only the client saw, ways to end of few connections that stand
for many, hosts that do not count what they receive, two restarts within five minutes."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from quiclens_schema import store as stores
from quiclens_schema.store import Store
from serve_process import start
from store_rows import fill

from quiclens_questions.closes import WAYS_AT_MOST
from quiclens_questions.failure import UsageMistake
from quiclens_questions.reports import REPORTS, Options, asked_of

Row = dict[str, Any]
BEGIN = datetime(2026, 11, 19, 10)
_DAY = {"trace_day": "2026-11-19", "version": 1, "analysis_version": 1}


def log(connection_id: str, vantage: str = "server", header: str = "", **more: Any) -> Row:
    kept = {"events_kept": "all", "event_probability": 1, "trace_probability": 1, "complete": True}
    own = {"connection_id": connection_id, "vantage": vantage, "trace_id": f"{vantage} of {connection_id}"}
    return _DAY | kept | own | {"started_at": str(BEGIN), "header": header} | more


BOTH_ENDS = [
    each
    for number in range(10)
    for each in (
        log(f"both {number}", packets_sent=5, region="both"),
        log(
            f"both {number}",
            "client",
            packets_sent=5,
            region="both",
            close_reason="stateless_reset",
            close_owner="remote",
        ),
    )
]
WEIGHED = [
    *(
        log(f"common {way} {number}", packets_sent=1, region="weighed", close_reason=f"reason {way}")
        for way in range(WAYS_AT_MOST)
        for number in range(2)
    ),
    log("for a hundred", packets_sent=1, region="weighed", close_reason="seldom traced", trace_probability=0.01),
]
HOSTS = [
    log(f"host:{name}", server=name, cluster=name, header=f'{{"trace": {{"common_fields": {{"host_id": {host_id}}}}}}}')
    for name, host_id in (("a", 0x1A01), ("b", 0x1A02), ("c", 0x1A03))
]


def event(of: Row, seq: int, at_s: float, name: str, **more: Any) -> Row:
    here = {name: of[name] for name in ("connection_id", "vantage", "trace_id", "trace_day")}
    return here | {"seq": seq, "time_us": round(at_s * 1e6), "name": name} | more


def host_events() -> Iterator[Row]:
    a, b, _ = HOSTS
    to_c = f"{(1 << 62) | (0x1A03 << 46):016x}"  # layout 1: the host stands behind the two bits of the version
    yield event(a, 1, 10, "quic:packet_dropped", trigger="wrong_host", dcid=to_c, count=10)
    yield event(b, 1, 10, "quic:packet_dropped", trigger="wrong_host", dcid=to_c, count=5)
    yield event(a, 2, 1_000, "host:restart_started")
    yield event(a, 3, 1_100, "host:restart_ended")
    yield event(a, 4, 1_120, "host:restart_started")  # of which no end is logged
    yield event(a, 5, 1_130, "host:packet_forwarded", count=7)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    folder = tmp_path_factory.mktemp("odd") / "store"
    fill(folder, {"connections": [*BOTH_ENDS, *WEIGHED, *HOSTS], "events": host_events()})
    served = start(folder, "--keep-events", "0", "--keep-summaries", "0")
    with stores.open(served.store_url) as opened:
        yield opened
    assert served.stop() == 0


def asked(store: Store, name: str, where: Sequence[str] = ()) -> list[Row]:
    window = (BEGIN.replace(tzinfo=UTC), BEGIN.replace(tzinfo=UTC) + timedelta(hours=1))
    return REPORTS[name].answer(store, asked_of(name, (), where, window, Options(), datetime.now(UTC))).dicts()


def test_a_close_that_only_the_client_saw_is_the_connections(store: Store) -> None:
    rows = {row["figure"]: row for row in asked(store, "closes", ["region=both"])}
    assert (rows["stateless_resets"]["connections"], rows["stateless_resets"]["samples"]) == (10, 10)
    assert (rows["ended_by"]["reason"], rows["ended_by"]["closed_by"]) == ("stateless_reset", "server")


def test_the_commonest_ways_to_end_are_those_that_stand_for_most(store: Store) -> None:
    rows = {row["reason"]: row for row in asked(store, "closes", ["region=weighed"]) if row["figure"] == "ended_by"}
    assert rows["seldom traced"]["share"] == pytest.approx(100 / 160, abs=1e-6) and len(rows) == WAYS_AT_MOST


def test_hosts_that_do_not_count_what_they_receive_have_no_share(store: Store) -> None:
    rows = [(row["landed_cluster"], row["packets"], row["misrouted_share"]) for row in asked(store, "misrouted")]
    assert rows == [("a", 10, None), ("b", 5, None)]


def test_a_restart_ends_with_its_own_end(store: Store) -> None:
    found = {row["began_at"]: row for row in asked(store, "restarts")}
    first, second = (found[at] for at in sorted(found))
    assert (first["took_us"], second["took_us"]) == (100_000_000, None)
    assert (first["forwarded"], second["forwarded"]) == (7, 7)  # both within five minutes: they stand with both


def test_a_release_is_no_condition_of_restarts() -> None:
    with pytest.raises(UsageMistake, match="no column 'server_release'"):
        asked_of("restarts", (), ("server_release=2.0",), (None, None), Options(), datetime.now(UTC))
