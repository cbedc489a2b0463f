"""QUIC beside TCP by one figure of each request: the smoothed round trip when it ended."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from quiclens_schema import store as stores
from quiclens_schema.store import Store
from serve_process import start
from store_rows import plant

from quiclens_questions.reports import REPORTS, Options, asked_of

_ROWS = """
INSERT INTO request_versions (
    request_id, started_hour, started_at, connection_id, stream_id, trace_id, source, link, coverage,
    weight, complete, duration_us, status, protocol, rtt_us)
SELECT
    if(is_quic, concat(toString(connection), '/', toString(number)), concat('log:', toString(number))),
    toStartOfHour(at), at, if(is_quic, toString(connection), NULL), if(is_quic, number, NULL), if(is_quic, 't', NULL),
    'log', if(is_quic, 'id', 'none'), if(is_quic, 'full', 'none'), 1, true, if(is_quic, 100000, 150000), 200,
    multiIf(is_quic, 'h3', number < 70, 'h2', 'h1'),
    multiIf(is_quic, 40000 + number, number < 70, 60000 + number, NULL)
FROM
(
    SELECT
        number,
        number < 40 AS is_quic,
        intDiv(number, 4) AS connection,
        toDateTime64('2026-11-20 10:00:00', 6, 'UTC') + toIntervalSecond(number) AS at
    FROM numbers(75)
)
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """40 requests of 10 traced connections, 30 over HTTP/2 whose server logged the RTT, 5 over HTTP/1.1 without one."""
    folder = tmp_path_factory.mktemp("round trips") / "store"
    plant(folder, _ROWS)
    served = start(folder, "--keep-events", "0", "--keep-summaries", "0")
    with stores.open(served.store_url) as opened:
        yield opened
    assert served.stop() == 0


def asked(store: Store, name: str, by: list[str], where: list[str], options: Options) -> list[dict[str, Any]]:
    return REPORTS[name].answer(store, asked_of(name, by, where, (None, None), options, datetime.now(UTC))).dicts()


def test_one_figure_of_each_request_with_or_without_a_trace(store: Store) -> None:
    quic, tcp = asked(store, "rtt", ["protocol"], [], Options(of="requests"))
    assert (quic["protocol"], quic["samples"], quic["clusters"], quic["p50"]) == ("h3", 40, 10, 40_019)
    assert (tcp["protocol"], tcp["samples"], tcp["clusters"], tcp["p50"]) == ("h2", 30, 30, 60_054)
    for row in (quic, tcp):
        assert row["p50_low"] < row["p50"] < row["p50_high"] and row["p99"] is None
    (only,) = asked(store, "rtt", [], ["protocol=h2"], Options(of="requests"))
    assert (only["samples"], only["p50"]) == (30, 60_054)


def test_what_was_asked_of_traced_requests_says_nothing_of_tcp(store: Store) -> None:
    (all_of_them,) = asked(store, "tail", [], [], Options())
    assert (all_of_them["requests"], all_of_them["traced"]) == (75, 40)
    by_protocol = {row["protocol"]: row["traced"] for row in asked(store, "tail", ["protocol"], [], Options())}
    assert by_protocol == {"h3": 40, "h2": 0, "h1": 0}


def test_a_comparison_has_the_round_trips_of_its_arms_beside(store: Store) -> None:
    rows = asked(store, "compare", [], [], Options(between="protocol", base="h3"))
    found = {(row["arm"], row["figure"]): row for row in rows if row["stratum"] == "all"}
    tcp, without = found["h2", "rtt_p50"], found["h1", "rtt_p50"]
    assert (tcp["unit"], tcp["value"], tcp["base_value"], tcp["samples"], tcp["base_samples"]) == (
        "us", 60_054, 40_019, 30, 40,
    )  # fmt: skip
    assert tcp["difference"] == pytest.approx(60_054 / 40_019 - 1, abs=1e-6)
    assert (without["value"], without["difference"], without["samples"]) == (None, None, 0)
    assert found["h1", "p75"]["samples"] == 5
