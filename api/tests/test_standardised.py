"""Two groups with another mix: the difference of the same mix is that of their strata, as it is computed from rows."""

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import accumulate

import pytest
from quiclens_schema import store as stores
from quiclens_schema.migrate import migrate
from quiclens_schema.store import Store

from quiclens_questions.compare_groups import compare_groups
from quiclens_questions.documents import ComparedDocument
from quiclens_questions.report import ReportQuestion
from quiclens_questions.where import read

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
# A request over h3 takes FACTOR times as long. Most of h3 is of the slow carrier, most of h2 of the quick.
# A carrier of h3 alone has no counterpart, and a stratum of few requests none either.
_ROWS = """
INSERT INTO request_versions
    (request_id, started_hour, started_at, connection_id, user_hash, source, link, coverage, weight, trace_weight,
     complete, duration_us, end_is, protocol, carrier, path, response_bytes)
WITH
    number AS n,
    cityHash64(n, 1) % 1000 AS chance,
    if(n % 2 = 0, 'h3', 'h2') AS protocol_name,
    multiIf(
        protocol_name = 'h3' AND chance < 50, 'other',
        n < 4, 'rare',
        chance < if(protocol_name = 'h3', 800, 200), 'slow',
        'quick'
    ) AS carrier_name,
    sqrt(-2 * log((cityHash64(n, 11) % 1000003 + 1) / 1000004)) AS radius,
    radius * cos(2 * pi() * (cityHash64(n, 12) % 1000003) / 1000003) AS z,
    toDateTime64('2026-11-20 11:00:00', 6, 'UTC') + toIntervalMillisecond(n * 100) AS at,
    if(carrier_name = 'slow', 400000, 50000) * if(protocol_name = 'h3', FACTOR, 1) * exp(0.3 * z) AS took
SELECT
    toString(n), toStartOfHour(at), at,
    concat('c', toString(n)), concat('u', toString(n)), 'log', 'id', 'none', 1 + n % 3, 0,
    true, toUInt64(took), 'fin',
    protocol_name, carrier_name, '/', 10000
FROM numbers(20000)
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with stores.open(f"chdb:{tmp_path_factory.mktemp('mix') / 'store'}") as opened:
        migrate(opened)
        yield opened


def compared(store: Store, factor: float, a: str = "protocol=h2", b: str = "protocol=h3") -> ComparedDocument:
    store.command("TRUNCATE TABLE request_versions")
    store.command(_ROWS.replace("FACTOR", str(factor)))
    first, second = (ReportQuestion(where=read([text], NOON), texts=(text,)) for text in (a, b))
    return compare_groups(store, first, second)


def test_a_difference_of_the_mix_alone_is_none_of_the_same_mix(store: Store) -> None:
    document = compared(store, 1)
    raw, same = document["differences"][0], document["same_mix"]
    assert (raw["low_us"] or 0) > 100_000
    assert same is not None and same["by"] == ["carrier", "path", "response_bytes"] and same["strata"] == 2
    for each in same["differences"][:3]:
        assert each["low_us"] is not None and each["high_us"] is not None and each["low_us"] <= 0 <= each["high_us"]
    assert 0.9 < same["b_covered"] < 0.96 and 0.999 < same["a_covered"] < 1


def test_a_difference_within_the_strata_is_seen(store: Store) -> None:
    same = compared(store, 1.3)["same_mix"]
    assert same is not None
    # Not at the median, which lies between the carriers.
    for each in same["differences"][1:3]:
        quick = same["a"][each["quantile"]]["us"]
        assert quick is not None and each["us"] is not None and 0.2 * quick < each["us"] < 0.4 * quick
        assert (each["low_us"] or 0) > 0


def test_quantiles_of_the_same_mix_are_those_of_weighed_rows(store: Store) -> None:
    document = compared(store, 1.3)
    same = document["same_mix"]
    assert same is not None
    rows = store.query(
        "SELECT toString(protocol) AS protocol, toString(carrier) AS carrier, duration_us, weight FROM requests"
        " WHERE carrier IN ('slow', 'quick') ORDER BY duration_us"
    ).dicts()
    whole = {side: sum(row["weight"] for row in rows if row["protocol"] == side) for side in ("h2", "h3")}
    share = {
        (side, carrier): sum(row["weight"] for row in rows if (row["protocol"], row["carrier"]) == (side, carrier))
        / whole[side]
        for side in whole
        for carrier in ("slow", "quick")
    }
    for side, told in (("h2", same["a"]), ("h3", same["b"])):
        of_side = [row for row in rows if row["protocol"] == side]
        factor = {
            carrier: (share["h2", carrier] + share["h3", carrier]) / 2 / share[side, carrier]
            for carrier in ("slow", "quick")
        }
        weights = [row["weight"] * factor[row["carrier"]] for row in of_side]
        for name, level in (("p50", 0.5), ("p95", 0.95)):
            sums = list(accumulate(weights))
            reached = next(at for at, each in enumerate(sums) if each >= level * sums[-1] * (1 - 1e-9))
            exact = of_side[reached]["duration_us"]
            assert told[name]["us"] == pytest.approx(exact, rel=0.005), (side, name)


def test_what_the_groups_are_chosen_by_is_no_stratum(store: Store) -> None:
    same = compared(store, 1, "carrier=slow", "carrier=quick")["same_mix"]
    assert same is not None and same["by"] == ["path", "response_bytes"]
    assert (same["differences"][0]["high_us"] or 0) < -200_000


def test_groups_with_nothing_in_common_have_no_same_mix(store: Store) -> None:
    assert compared(store, 1, "carrier=nobody", "carrier=quick")["same_mix"] is None
    assert compared(store, 1, "response_bytes<=10", "carrier=quick")["same_mix"] is None
