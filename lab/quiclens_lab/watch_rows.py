"""An hour of requests of a large service, made in the store; in its last five minutes one cell takes twice as long."""

import time
from datetime import UTC, datetime, timedelta
from typing import Any

from quiclens_ingest.link import roll_up
from quiclens_questions.watch import BUCKET_S, Watch, watch
from quiclens_schema.migrate import migrate
from quiclens_schema.store import Store

from quiclens_lab.watch_drawn import REGIONS

REGRESSED = (4, 4)  # carrier and city by rank: 0.1 % of the traffic
BEGINS_AT = datetime(2026, 3, 4, 12, tzinfo=UTC)
ROWS_AT_ONCE = 1_000_000
# Ranks as Zipf's law has them: the logarithm of a rank is even. Durations: lognormal, by Box and Muller.
_ROWS = """
INSERT INTO request_versions
    (request_id, started_hour, started_at, carrier, region, city, source, link, coverage, weight, complete, duration_us)
SELECT
    toString(number),
    toDateTime('2026-03-04 12:00:00', 'UTC') AS started_hour,
    toDateTime64(started_hour, 6, 'UTC') + toIntervalMicrosecond(intDiv(number * 3600000000, {rows:UInt64})) AS at,
    toString(floor(pow(4501, sipHash64(number, 1) / 18446744073709551616)) AS carrier_rank),
    toString(city_rank % 20),
    toString(floor(pow(601, sipHash64(number, 2) / 18446744073709551616)) AS city_rank),
    'log',
    'none',
    'none',
    1,
    true,
    toUInt64(
        60000
        * exp(
            0.9 * sqrt(-2 * log((sipHash64(number, 3) + 1.) / 18446744073709551616))
            * cos(2 * pi() * sipHash64(number, 4) / 18446744073709551616)
        )
        * if(carrier_rank = {carrier:UInt16} AND city_rank = {city:UInt16} AND toMinute(at) >= 55, 2, 1)
    )
FROM numbers({first:UInt64}, {count:UInt64})
"""

Row = dict[str, Any]


def hour(store: Store, rows: int, changed: tuple[int, int] = REGRESSED) -> Row:
    """Make the hour, roll it up and ask; `passes` where the changed cell is found, and nothing but it."""
    migrate(store)
    began = time.monotonic()
    for first in range(0, rows, ROWS_AT_ONCE):
        bound = {"rows": rows, "first": first, "count": min(ROWS_AT_ONCE, rows - first)}
        store.command(_ROWS, {**bound, "carrier": changed[0], "city": changed[1]})
    made = time.monotonic()
    roll_up(store)
    rolled = time.monotonic()
    asked = Watch(BEGINS_AT + timedelta(hours=1), BUCKET_S, 3_600 - BUCKET_S)
    report = watch(store, asked)
    ended = time.monotonic()
    cell = [str(changed[0]), str(changed[1] % REGIONS), str(changed[1])]
    return {
        "rows": rows,
        "rollups": int(store.query("SELECT count() FROM request_rollups").one()[0]),
        "make_s": round(made - began, 1),
        "roll_up_s": round(rolled - made, 1),
        "watch_s": round(ended - rolled, 2),
        "params": {name: str(value) if isinstance(value, datetime) else value for name, value in report.params.items()},
        "found": report.dicts(),
        "passes": [row[:3] for row in report.rows] == [cell],
    }
