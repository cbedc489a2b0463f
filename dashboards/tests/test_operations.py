"""Panels of hosts, apps and hexagons show what the lab planted, to the packet; so do the reports."""

from collections import Counter
from dataclasses import replace
from datetime import timedelta

import pytest
from demo_store import Demo
from expanding import ALL, expand
from quiclens_lab.draws import whole
from quiclens_lab.operations import fleet, misrouting
from reading import queries
from test_numbers import Row, every_row, report, rows

from quiclens_dashboards.ask import sql

PAGE = "edge_operations"
LONG = timedelta(days=60)  # before all that is planted


def test_misrouted_packets_are_found_by_cluster_in_all_three_layouts(demo: Demo) -> None:
    truth = demo.truth["misroute"]
    shown = {(row["meant_for"], row["landed_in"]): row for row in rows(demo, PAGE, "Misrouted packets by cluster")}
    for planted in truth["wrong_host"]:
        row = shown.pop((planted["meant_for"], planted["landed_in"]))
        assert row["packets"] == planted["packets"]
        assert row["misrouted_share"] == planted["packets"] / truth["addressed"][planted["meant_for"]]
        if planted["meant_for"] != planted["landed_in"]:
            assert row["misrouted_share"] == pytest.approx(misrouting.MISROUTED_SHARE, rel=0.1)
    assert shown == {}


def test_wrong_hosts_and_dead_connections_are_told_apart(demo: Demo) -> None:
    misroute, restart = demo.truth["misroute"], demo.truth["restart"]
    shown = rows(demo, PAGE, "Dropped at hosts", "timeseries")
    left_behind = sum(each["resets_sent"] for each in restart["restarts"])
    assert sum(row["wrong_host"] for row in shown) == sum(each["packets"] for each in misroute["wrong_host"])
    assert sum(row["connection_unknown"] for row in shown) == misroute["connection_unknown"] + left_behind
    assert sum(row["other"] for row in shown) == sum(each["dropped"] for each in restart["restarts"])


def test_pairs_of_hosts_name_the_server_that_was_meant(demo: Demo) -> None:
    servers = {host.host_id: host.server for host in (*fleet.EUROPE, *fleet.AMERICA, *fleet.ASIA)}
    shown = rows(demo, PAGE, "Packets on the wrong host")
    assert {row["id_version"] for row in shown} == {"1", "2", "3"}
    assert all(servers[int(row["id_host"])] == row["id_server"] != row["server"] for row in shown)
    assert sum(row["packets"] for row in shown) == sum(each["packets"] for each in demo.truth["misroute"]["wrong_host"])


@pytest.mark.parametrize("host", [fleet.EUROPE[0], fleet.AMERICA[1], fleet.ASIA[2]], ids=lambda host: host.cluster)
@pytest.mark.parametrize("process", [0, 1])
def test_a_connection_id_is_decoded_as_mvfst_wrote_it(demo: Demo, host: fleet.Host, process: int) -> None:
    made = [fleet.connection_id(host, process, 7, number) for number in range(50)]
    found = decoded(demo, made)
    assert {row["dcid"] for row in found} == set(made)
    for row in found:
        number = made.index(row["dcid"])
        assert (row["id_version"], row["id_host"], row["id_process"]) == (host.layout, host.host_id, process)
        assert row["id_worker"] == whole(0, 15, 7, "worker", number)
        assert row["id_server"] == host.server


def test_what_is_too_short_or_of_no_layout_names_no_host(demo: Demo) -> None:
    found = decoded(demo, ["", "40", "8011223344", "c01122334455", "0011223344556677"])
    assert len(found) == 5
    for row in found:
        assert (row["id_host"], row["id_worker"], row["id_cluster"]) == (None, None, "unknown")


def decoded(demo: Demo, dcids: list[str]) -> list[Row]:
    """What server_ids.sql makes of packets on the wrong host with these connection ids, in place of the store's."""
    names = ", ".join(f"'{dcid}'" for dcid in dcids)
    columns = "now64(6) AS at, 's' AS server, 'c' AS cluster, 'quic:packet_dropped' AS name, 'wrong_host' AS trigger"
    given = f"(SELECT {columns}, arrayJoin([{names}]) AS dcid, toUInt64(1) AS packets, '' AS release)"
    lines = sql(f"{PAGE}/host_events").splitlines()
    inside = "\n".join(line for line in lines if not line.startswith("--"))
    asked = sql(f"{PAGE}/server_ids").replace(f"(\n{inside}\n)", given)
    assert given in asked
    return demo.store.query(expand(asked, {"pop": ALL}, demo.operations)).dicts()


def test_restarts_are_aligned_on_their_start(demo: Demo) -> None:
    planted = demo.truth["restart"]["restarts"]
    shown = {row["since_start_us"] // 10_000_000: row for row in rows(demo, PAGE, "Around restarts", "trend")}
    assert list(shown) == list(range(-6, 30))
    for ten_seconds, row in shown.items():
        for name in ("forwarded", "forwarded_received", "dropped"):
            assert row[name] == sum(each["by_ten_seconds"][name].get(ten_seconds, 0) for each in planted)
    assert sum(row["connection_unknown"] for row in shown.values()) == sum(each["resets_sent"] for each in planted)
    listed = {row["server"]: row for row in rows(demo, PAGE, "Restarts")}
    assert set(listed) == {each["server"] for each in planted}
    for each in planted:
        row = listed[each["server"]]
        for name in ("forwarded", "forwarded_received", "dropped", "resets_sent"):
            assert row[name] == each[name]
        assert row["hop_lost_share"] == (each["forwarded"] - each["forwarded_received"]) / each["forwarded"]
        assert (row["took_us"], row["release"]) == (180_000_000, "2026.44.1")


def test_resets_and_closes_are_those_that_were_logged(demo: Demo) -> None:
    misroute, restart = demo.truth["misroute"], demo.truth["restart"]
    shown = rows(demo, PAGE, "Stateless resets", "timeseries")
    sent = misroute["resets_sent"] + sum(each["resets_sent"] for each in restart["restarts"])
    assert sum(row["resets_sent"] for row in shown) == sent
    assert sum(row["resets_received"] for row in shown) == restart["closes"]["stateless_reset"]
    closes = {row["reason"]: row["connections"] for row in rows(demo, PAGE, "Close reasons")}
    assert closes == restart["closes"]


def test_use_of_quic_and_carriers_without_it_are_those_of_the_access_log(demo: Demo) -> None:
    carriers = demo.truth["racing"]["carriers"]
    for row in rows(demo, PAGE, "Requests by QUIC and ${by}"):
        planted = carriers[row["by_value"]]
        assert (row["measured"], row["quic"]) == (planted["requests"], planted["requests_quic"])
        enough = planted["requests"] >= 20
        assert row["quic_share"] == (planted["requests_quic"] / planted["requests"] if enough else None)
    (without,) = rows(demo, PAGE, "Carriers without QUIC")
    assert (without["carrier"], without["measured"]) == ("Wall Telecom", carriers["Wall Telecom"]["requests"])


def test_races_and_happy_eyeballs_are_those_that_apps_logged(demo: Demo) -> None:
    truth = demo.truth["racing"]
    shown = rows(demo, PAGE, "Races by ${by}")
    assert {row["by_value"] for row in shown} == set(truth["carriers"])
    for row in shown:
        planted = truth["carriers"][row["by_value"]]
        assert row["races"] == planted["races"]
        assert row["quic_won_share"] == planted.get("quic_won", 0) / planted["races"]
        assert row["quic_late_share"] == planted.get("late", 0) / planted["races"]
        assert row["quic_failed_share"] == planted.get("failed", 0) / planted["races"]
        assert row["quic_cancelled_share"] == planted.get("cancelled", 0) / planted["races"]
    for row in rows(demo, PAGE, "Happy eyeballs"):
        planted = truth["families"][row["protocol"]]
        connections = planted["connections"]
        assert row["connections"] == connections
        assert row["ipv6_share"] == planted["ipv6"] / connections
        assert row["timer_fired_share"] == planted["timer_fired"] / connections
        assert row["added_mean_us"] == planted["winner_delay_us"] / connections


def test_panels_of_hosts_and_apps_are_empty_where_none_has_a_log(demo: Demo) -> None:
    found = {asked.title: asked for asked in queries() if asked.page == PAGE}
    long_before = replace(demo.window, since=demo.window.since - LONG, until=demo.window.until - LONG)
    for title in ("Dropped at hosts", "Misrouted packets by cluster", "Packets on the wrong host", "Around restarts"):
        assert demo.store.query(expand(found[title].sql, found[title].variables, long_before)).rows == []
    for title in ("Stateless resets", "Restarts", "Happy eyeballs", "Races by ${by}"):
        assert demo.store.query(expand(found[title].sql, found[title].variables, long_before)).rows == []


def test_the_slow_hexagon_is_slow_for_its_carrier_alone(demo: Demo) -> None:
    slow = demo.truth["racing"]["slow"]
    first = rows(demo, "hexagons", "Hexagons and carriers")[0]
    assert (first["h3_cell"], first["carrier"]) == (slow["h3_cell"], slow["carrier"])
    (beside,) = [
        row
        for row in rows(demo, "hexagons", "p95 by hexagon and carrier")
        if (row["h3_cell"], row["carrier"]) == (slow["h3_cell"], slow["carrier"])
    ]
    assert beside["p95"] == first["p95"]
    (marker,) = [row for row in rows(demo, "hexagons", "p95 by hexagon", "geomap") if row["h3_cell"] == slow["h3_cell"]]
    assert (marker["latitude"], marker["longitude"]) == pytest.approx((-25.4, -49.3), abs=0.6)  # Curitiba


def told(demo: Demo, *words: str) -> list[Row]:
    return every_row(report(demo, *words, of=demo.operations))


def test_the_report_of_misrouted_packets_has_what_was_planted_and_what_the_panel_shows(demo: Demo) -> None:
    truth = demo.truth["misroute"]
    document = report(demo, "misrouted", of=demo.operations)
    found = {(row["meant_cluster"], row["landed_cluster"]): row for row in every_row(document)}
    shown = {(row["meant_for"], row["landed_in"]): row for row in rows(demo, PAGE, "Misrouted packets by cluster")}
    assert found.keys() == shown.keys()
    for planted in truth["wrong_host"]:
        pair = planted["meant_for"], planted["landed_in"]
        row = found[pair]
        assert row["packets"] == planted["packets"] == shown[pair]["packets"]
        assert row["misrouted_share"] == planted["packets"] / truth["addressed"][planted["meant_for"]]
        assert row["misrouted_share"] == shown[pair]["misrouted_share"]
    restarted = sum(each["resets_sent"] for each in demo.truth["restart"]["restarts"])
    assert document["coverage"]["packets_connection_unknown"] == truth["connection_unknown"] + restarted
    assert (
        document["samples"]
        == document["coverage"]["packets_wrong_host"]
        == sum(row["packets"] for row in shown.values())
    )


def test_the_report_of_misrouted_packets_names_the_pairs_of_hosts_that_the_panel_shows(demo: Demo) -> None:
    pairs: Counter[tuple[str, str]] = Counter()
    for row in rows(demo, PAGE, "Packets on the wrong host"):
        pairs[row["server"], row["id_server"]] += row["packets"]
    found = told(demo, "misrouted", "--by", "server")
    assert {(row["landed_server"], row["meant_server"]): row["packets"] for row in found} == pairs


def test_the_report_of_restarts_has_what_was_planted(demo: Demo) -> None:
    planted = {each["server"]: each for each in demo.truth["restart"]["restarts"]}
    found = told(demo, "restarts")
    assert {row["server"] for row in found} == set(planted)
    for row in found:
        each = planted[row["server"]]
        for name in ("forwarded", "forwarded_received", "dropped", "resets_sent"):
            assert row[name] == each[name]
        assert row["connection_unknown"] == each["resets_sent"]
        assert row["hop_lost_share"] == (each["forwarded"] - each["forwarded_received"]) / each["forwarded"]
        assert (row["took_us"], row["server_release"]) == (180_000_000, "2026.44.1")
    shown = {row["since_start_us"] // 1_000_000: row for row in rows(demo, PAGE, "Around restarts", "trend")}
    around = {int(row["since_start"]): row for row in told(demo, "restarts", "--by", "since_start")}
    assert around.keys() == shown.keys()
    for second, row in around.items():
        for name in ("forwarded", "forwarded_received", "dropped"):
            assert row[name] == sum(each["by_ten_seconds"][name].get(second // 10, 0) for each in planted.values())
        for name in ("forwarded", "forwarded_received", "dropped", "connection_unknown"):
            assert row[name] == shown[second][name]


def test_the_report_of_closes_has_what_was_planted(demo: Demo) -> None:
    planted = demo.truth["restart"]["closes"]
    found = told(demo, "closes")
    ways = {row["reason"] or f"code {row['code']}": row for row in found if row["figure"] == "ended_by"}
    assert {way: row["connections"] for way, row in ways.items()} == planted
    whole = sum(planted.values())
    assert all(row["share"] == pytest.approx(planted[way] / whole, abs=1e-6) for way, row in ways.items())
    assert {row["closed_by"] for way, row in ways.items() if way != "stateless_reset"} == {"client"}
    figures = {row["figure"]: row["connections"] for row in found if row["figure"] != "ended_by"}
    resets, timeouts = planted["stateless_reset"], planted["idle_timeout"]
    assert figures == {
        "closes_logged": whole,
        "idle_timeouts": timeouts,
        "stateless_resets": resets,
        "errors": resets + planted["code 267"],  # 256 is H3_NO_ERROR
    }


def test_the_report_of_races_has_what_was_planted(demo: Demo) -> None:
    carriers = demo.truth["racing"]["carriers"]
    shown = {row["by_value"]: row for row in rows(demo, PAGE, "Races by ${by}")}
    found: dict[str, dict[str, Row]] = {}
    for row in told(demo, "races", "--by", "carrier"):
        found.setdefault(row["carrier"], {})[row["figure"]] = row
    assert found.keys() == set(carriers)
    for carrier, figures in found.items():
        planted = carriers[carrier]
        for figure, name in (("won_by_quic", "quic_won"), ("quic_late", "late"), ("quic_cancelled", "cancelled")):
            share = planted.get(name, 0) / planted["races"]
            assert (figures[figure]["value"], figures[figure]["samples"]) == (
                pytest.approx(share, abs=1e-6),
                planted["races"],
            )
        failed = pytest.approx(planted.get("failed", 0) / planted["races"], abs=1e-6)
        assert figures["quic_failed"]["value"] == failed
        if planted.get("failed"):
            assert figures["quic_failed_with_handshake_timeout"]["value"] == failed
        assert figures["tcp_delay_p50"]["value"] in (None, shown[carrier]["tcp_delay_p50"])
    whole = {row["figure"]: row for row in told(demo, "races")}
    for protocol, planted in demo.truth["racing"]["families"].items():
        connections = planted["connections"]
        for figure, name in (("ipv6", "ipv6"), ("timer_fired", "timer_fired")):
            row = whole[f"{figure}_of_{protocol}"]
            assert row["value"] == pytest.approx(planted[name] / connections, abs=1e-6)
            assert row["samples"] == connections
        assert whole[f"added_mean_of_{protocol}"]["value"] == round(planted["winner_delay_us"] / connections)
