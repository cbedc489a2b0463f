"""Panels of hosts, apps and hexagons show what the lab planted, to the packet."""

import pytest
from demo_store import Demo
from expanding import ALL, expand
from quiclens_lab.draws import whole
from quiclens_lab.operations import fleet, misrouting
from reading import queries
from test_numbers import Row, rows

from quiclens_dashboards.ask import sql

PAGE = "edge_operations"


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
    for title in ("Dropped at hosts", "Misrouted packets by cluster", "Packets on the wrong host", "Around restarts"):
        assert demo.store.query(expand(found[title].sql, found[title].variables, demo.window)).rows == []
    for title in ("Stateless resets", "Restarts", "Happy eyeballs", "Races by ${by}"):
        assert demo.store.query(expand(found[title].sql, found[title].variables, demo.window)).rows == []


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
