"""Rows with known truths, made by the engine from hashes: the same seed gives the same rows.

Each carrier is one sample of the same population, so that a report by carrier is as many experiments as there are
carriers. Populations, each in a region of its own:

- `users` are alike within themselves, come in sessions, and choose their arm badly: who has a slow path seldom gets
  QUIC, and a session mostly begins over TCP, which is slow once.
- `requests` are independent, and come at random seconds.
- `connections` have requests that are alike, round trips, losses, repairs, handshakes, idle time, outages and ends.
  Half of them, which are slower and lose more, come from servers that trace one connection of four: of the rows they
  are a fifth.
- `apps` log a few races each of QUIC against TCP, which are alike: with some QUIC wins more often. Half of them, where
  it wins less often and is slower, log with a chance of one in four.
- `clusters-20` and others have so many users a carrier, as far as they are seen, with 1 to 19 requests each that are
  alike. A fifth of those seen stand for four each, and are slower.
"""

from quiclens_schema.store import Store

DAY = "2026-11-20"
_BEGIN = f"toDateTime64('{DAY} 10:00:00', 6, 'UTC')"

# arm
USERS, SESSIONS, LEAST_REQUESTS, MORE_REQUESTS = 1000, 2, 2, 4  # requests of a session: 2 to 5
SLOW, WARM = 0.3, 0.3
QUIC_IF_FAST, QUIC_IF_SLOW = 0.6, 0.25
FASTER = 0.9
FAILS, FAILS_QUIC = 0.02, 0.01
# independent requests
PER_SECOND, MEDIAN_US, SIGMA = 0.3, 100_000, 1.0
# connections
NEW_PER_SECOND, PER_CONNECTION, RTT_SAMPLES = 0.15, 3, 20
RTT_US, SIGMA_PATH, SIGMA_SAMPLE = 350_000, 0.4, 0.2
SIGMA_CONNECTION, SIGMA_REQUEST = 0.3, 0.5
LOSSY, LOSSY_HANDSHAKE, LOSSY_DATA = 0.45, 0.30, 0.76
LOSSY_SAMPLED = 0.65
SAMPLED, SAMPLED_PROBABILITY, SAMPLED_SLOWER = 0.5, 0.25, 1.6  # of servers that trace a share: their share, and what
REPAIR_US, SIGMA_REPAIR = 1_000_000, 1.0
# Of lossy connections, of servers that trace all and of the others: so alike, and with so little spread, that all of
# these connections are in one cell of the grid, "to 2 %".
LOSS_RATE, LOSS_RATE_SAMPLED, LOSS_RATE_SPREAD = 0.0135, 0.0162, 0.15
RETRANSMITTED = 0.02  # of all connections
DEVIATION_US, SIGMA_DEVIATION = 20_000, 0.6
HANDSHAKE_US, SIGMA_HANDSHAKE = 400_000, 0.5
HANDSHAKES_COMPLETE, RETRIES, ZERO_RTT, ZERO_RTT_ACCEPTED = 0.95, 0.1, 0.4, 0.7
BUSY_US, SIGMA_BUSY, IDLE_US, SIGMA_IDLE = 2_000_000, 0.7, 3_000_000, 0.8
BLOCKED, OUTAGES, OUTAGE_US, SIGMA_OUTAGE, PROBE_AFTER_US = 0.5, 0.6, 500_000, 0.8, 200_000
BYTES = 1_000_000
IDLE_TIMEOUTS, ERRORS = 0.3, 0.2  # of servers that trace all: how connections end, as a share of them
IDLE_TIMEOUTS_SAMPLED, ERRORS_SAMPLED = 0.5, 0.1
# apps
APPS, RACES_MOST = 300, 6  # races of an app: 1 to 6
QUIC_WINS, QUIC_WINS_SAMPLED, APPS_DIFFER = 0.8, 0.6, 0.15  # an app's own chance is so much above or below
FAILS_OF_LOST = 0.4
QUIC_US, SIGMA_QUIC, TCP_US, SIGMA_TCP = 60_000, 0.5, 200_000, 0.4
IPV6, ADDED, ADDED_US = 0.65, 0.1, 100_000  # how often the second family wins, and how much later it was begun
SLOWER = {"implementation": 1.3, "rtt": 2.0, "loss": 1.5}

# clusters
SIZES = (10, 20, 60, 200)
SIGMA_USER, SIGMA_ALONE, REQUESTS_MOST = 0.35, 0.55, 19

_NAMES = "request_id, started_hour, started_at, source, link, coverage, weight, complete, duration_us, carrier, region"


def plant(store: Store, groups: int, seed: int) -> None:
    """Fill an empty store with `groups` samples of each population."""
    values = {"groups": groups, "seed": seed}
    settings = {"max_partitions_per_insert_block": 1000}
    for statement in (_USERS, _REQUESTS, _CONNECTIONS, _CONNECTION_REQUESTS, _REPAIRS, _STRETCHES, _APPS, _RACES):
        store.command(statement, values, settings)
    for size in SIZES:
        store.command(_CLUSTERS, {**values, "size": size}, settings)


def _uniform(name: str, *of: str) -> str:
    """In (0, 1), by what it is for and whose it is."""
    return f"((bitShiftRight(cityHash64({{seed:UInt32}}, '{name}', {', '.join(of)}), 12) + 0.5) / 4503599627370496)"


def _normal(name: str, *of: str) -> str:
    """Box and Muller's transform of two uniforms."""
    return f"(sqrt(-2 * log({_uniform(name + '1', *of)})) * cos(2 * pi() * {_uniform(name + '2', *of)}))"


def _row(at: str) -> str:
    return f"toStartOfHour({at}) AS started_hour, {at} AS started_at"


_USERS = f"""
INSERT INTO request_versions ({_NAMES}, user_hash, arm, protocol, rtt_us, status, response_bytes, request_number)
SELECT
    concat('users/', toString(g), '/', toString(u), '/', toString(s), '/', toString(i)),
    {_row(f"{_BEGIN} + toIntervalSecond(7200 * s + 10 * i)")},
    'log', 'none', 'none', 1, 1,
    toUInt64(80000 * if(slow, 3, 1) * if(cold AND i = 0, 2, 1) * if(over_quic, {FASTER}, 1)
        * exp(0.3 * {_normal("user", "g", "u")} + 0.6 * {_normal("request", "g", "u", "s", "i")})),
    concat('carrier-', leftPad(toString(g), 4, '0')), 'users',
    concat('user-', toString(g), '-', toString(u)),
    if(over_quic, 'quic', 'tcp'), if(over_quic, 'h3', 'h2'),
    if(slow, 600000, 60000),
    if({_uniform("fails", "g", "u", "s", "i")} < if(over_quic, {FAILS_QUIC}, {FAILS}), 500, 200),
    1000, i
FROM
(
    SELECT
        number % {{groups:UInt32}} AS g,
        intDiv(number, {{groups:UInt32}}) % {USERS} AS u,
        intDiv(number, {{groups:UInt32}} * {USERS}) AS s,
        {_uniform("slow", "g", "u")} < {SLOW} AS slow,
        {_uniform("arm", "g", "u")} < if(slow, {QUIC_IF_SLOW}, {QUIC_IF_FAST}) AS gets_quic,
        {_uniform("warm", "g", "u", "s")} >= {WARM} AS cold,
        arrayJoin(range({LEAST_REQUESTS} + toUInt8({MORE_REQUESTS} * {_uniform("length", "g", "u", "s")}))) AS i,
        gets_quic AND NOT (cold AND i = 0) AS over_quic
    FROM numbers({{groups:UInt32}} * {USERS} * {SESSIONS})
)
"""

_REQUESTS = f"""
INSERT INTO request_versions ({_NAMES}, response_bytes)
SELECT
    concat('requests/', toString(g), '/', toString(s)),
    {_row(f"{_BEGIN} + toIntervalSecond(s)")},
    'log', 'none', 'none', 1, 1,
    toUInt64({MEDIAN_US} * exp({SIGMA} * {_normal("alone", "g", "s")})),
    concat('carrier-', leftPad(toString(g), 4, '0')), 'requests',
    if({_uniform("size", "g", "s")} < 0.5, 500, 3000)
FROM
(
    SELECT number % {{groups:UInt32}} AS g, intDiv(number, {{groups:UInt32}}) AS s
    FROM numbers({{groups:UInt32}} * 3600)
)
WHERE {_uniform("comes", "g", "s")} < {PER_SECOND}
"""

_EACH_CONNECTION = f"""
    SELECT
        number % {{groups:UInt32}} AS g,
        intDiv(number, {{groups:UInt32}}) AS s,
        concat('planted-', toString(g), '-', toString(s)) AS id,
        {_uniform("implementation", "g", "s")} < 0.5 AS is_other,
        {_uniform("far", "g", "s")} < 0.5 AS is_far,
        {_uniform("sampled", "g", "s")} < {SAMPLED} AS is_sampled,
        if(is_sampled, {SAMPLED_PROBABILITY}, 1) AS traced_with,
        if(is_sampled, {SAMPLED_SLOWER}, 1) AS slower,
        {_uniform("lossy", "g", "s")} < if(is_sampled, {LOSSY_SAMPLED}, {LOSSY}) AS is_lossy
    FROM numbers({{groups:UInt32}} * 3600)
    WHERE {_uniform("opens", "g", "s")} < {NEW_PER_SECOND} AND {_uniform("traced", "g", "s")} < traced_with
"""

_BUSY = f"toUInt64({BUSY_US} * slower * exp({SIGMA_BUSY} * {_normal('busy', 'g', 's')}))"
_IDLE = f"toUInt64({IDLE_US} * exp({SIGMA_IDLE} * {_normal('idle', 'g', 's')}))"

_CONNECTIONS = f"""
INSERT INTO connections (connection_id, vantage, trace_id, version, analysis_version, trace_day, started_at, complete,
    stack, carrier, region, events_kept, event_probability, trace_probability, handshake_complete, zero_rtt,
    packets_sent, packets_lost, packets_lost_handshake, packets_lost_data, rtt_histogram, rtt_samples,
    retransmitted_packets, rtt_stdev_us, handshake_us, retries, unique_stream_bytes_sent, requests, duration_us,
    close_reason, close_code, close_owner)
SELECT
    id, 'server', id, 1, 1, '{DAY}', {_BEGIN} + toIntervalSecond(s), 1,
    if(is_other, 'slower', 'faster'), concat('carrier-', leftPad(toString(g), 4, '0')), 'connections',
    'none', 1, traced_with, is_complete,
    multiIf(
        {_uniform("early", "g", "s")} >= {ZERO_RTT}, '',
        {_uniform("taken", "g", "s")} < {ZERO_RTT_ACCEPTED}, 'accepted',
        'rejected'
    ),
    toUInt64(500 + 1000 * {_uniform("sent", "g", "s")}) AS sent,
    if(is_lossy, toUInt64(round(sent * if(is_sampled, {LOSS_RATE_SAMPLED}, {LOSS_RATE})
        * (1 - {LOSS_RATE_SPREAD} + 2 * {LOSS_RATE_SPREAD} * {_uniform("rate", "g", "s")}))), 0),
    is_lossy AND {_uniform("handshake", "g", "s")} < {LOSSY_HANDSHAKE},
    is_lossy AND {_uniform("data", "g", "s")} < {LOSSY_DATA},
    sumMap(map(toUInt16(floor(log({RTT_US} * slower * exp({SIGMA_PATH} * {_normal("path", "g", "s")}
        + {SIGMA_SAMPLE} * {_normal("sample", "g", "s", "i")})) / log(1.02))), toUInt64(1))),
    {RTT_SAMPLES},
    toUInt64(round(sent * {2 * RETRANSMITTED} * {_uniform("again", "g", "s")})),
    {DEVIATION_US} * slower * exp({SIGMA_DEVIATION} * {_normal("deviation", "g", "s")}),
    if(is_complete, toUInt64({HANDSHAKE_US} * slower * exp({SIGMA_HANDSHAKE} * {_normal("shake", "g", "s")})), NULL),
    {_uniform("retry", "g", "s")} < {RETRIES},
    {BYTES},
    {PER_CONNECTION},
    {_IDLE} + {_BUSY},
    if({_uniform("end", "g", "s")} < if(is_sampled, {IDLE_TIMEOUTS_SAMPLED}, {IDLE_TIMEOUTS}), 'idle_timeout', '')
        AS reason,
    multiIf(
        reason != '', '',
        {_uniform("end", "g", "s")} > 1 - if(is_sampled, {ERRORS_SAMPLED}, {ERRORS}), '0x10c',
        '0x100'
    ),
    if(reason = '', 'remote', 'local')
FROM
(
    SELECT
        *,
        arrayJoin(range({RTT_SAMPLES})) AS i,
        {_uniform("complete", "g", "s")} < {HANDSHAKES_COMPLETE} AS is_complete
    FROM ({_EACH_CONNECTION})
)
GROUP BY g, s, id, is_other, is_far, is_lossy, is_sampled, traced_with, slower, is_complete
"""

_CONNECTION_REQUESTS = f"""
INSERT INTO request_versions ({_NAMES}, connection_id, stream_id, trace_id, vantage, stack, min_rtt_us, response_bytes,
    trace_weight)
SELECT
    concat(id, '/', toString(4 * i)),
    {_row(f"{_BEGIN} + toIntervalSecond(s)")},
    'http', 'id', 'summary', 1 / traced_with, 1,
    toUInt64({MEDIAN_US} * slower * if(is_other, {SLOWER["implementation"]}, 1) * if(is_far, {SLOWER["rtt"]}, 1)
        * if(is_lossy, {SLOWER["loss"]}, 1)
        * exp({SIGMA_CONNECTION} * {_normal("connection", "g", "s")}
            + {SIGMA_REQUEST} * {_normal("of", "g", "s", "i")})),
    concat('carrier-', leftPad(toString(g), 4, '0')), 'connections',
    id, 4 * i, id, 'server', if(is_other, 'slower', 'faster'), if(is_far, 80000, 20000), 50000, 1 / traced_with
FROM (SELECT *, arrayJoin(range({PER_CONNECTION})) AS i FROM ({_EACH_CONNECTION}))
"""

_REPAIRS = f"""
INSERT INTO episodes (connection_id, vantage, trace_id, kind, path_id, stream_id, first_seq, last_seq, version,
    analysis_version, trace_day, start_us, end_us, confirmed, trigger, bytes, count, detection_us, wait_us)
SELECT
    id, 'server', id, 'repair', 0, -1, i, i, 1, 1, '{DAY}', 0, 1, 1, 'time_threshold', 1200, 1,
    toUInt64(1000), toUInt64({REPAIR_US} * slower * exp({SIGMA_REPAIR} * {_normal("repair", "g", "s", "i")}))
FROM (SELECT *, arrayJoin(range(2)) AS i FROM ({_EACH_CONNECTION}))
WHERE is_lossy
"""

_STRETCHES = f"""
INSERT INTO episodes (connection_id, vantage, trace_id, kind, path_id, stream_id, first_seq, last_seq, version,
    analysis_version, trace_day, start_us, end_us, confirmed, trigger, bytes, count, wait_us)
SELECT
    id, 'server', id, stretch.1, 0, -1, 100, 100, 1, 1, '{DAY}', 0, stretch.2, 1, '', 0, 1,
    if(stretch.1 = 'pto', toUInt64({PROBE_AFTER_US}), NULL)
FROM ({_EACH_CONNECTION})
ARRAY JOIN
    [
        ('idle', toInt64({_IDLE})),
        ('cwnd_blocked', toInt64({_BUSY} * {2 * BLOCKED} * {_uniform("blocked", "g", "s")})),
        ('pto', toInt64({OUTAGE_US} * slower * exp({SIGMA_OUTAGE} * {_normal("outage", "g", "s")})))
    ] AS stretch
WHERE stretch.1 != 'pto' OR {_uniform("dark", "g", "s")} < {OUTAGES}
"""

_EACH_APP = f"""
    SELECT
        number % {{groups:UInt32}} AS g,
        intDiv(number, {{groups:UInt32}}) AS s,
        concat('client:planted-', toString(g), '-', toString(s)) AS id,
        {_uniform("app sampled", "g", "s")} < {SAMPLED} AS is_sampled,
        if(is_sampled, {SAMPLED_PROBABILITY}, 1) AS traced_with,
        if(is_sampled, {SAMPLED_SLOWER}, 1) AS slower,
        if(is_sampled, {QUIC_WINS_SAMPLED}, {QUIC_WINS})
            + if({_uniform("good", "g", "s")} < 0.5, {APPS_DIFFER}, -{APPS_DIFFER}) AS wins
    FROM numbers({{groups:UInt32}} * {APPS})
    WHERE {_uniform("app traced", "g", "s")} < traced_with
"""

_APPS = f"""
INSERT INTO connections (connection_id, vantage, trace_id, version, analysis_version, trace_day, started_at, complete,
    carrier, region, events_kept, event_probability, trace_probability)
SELECT
    id, 'client', id, 1, 1, '{DAY}', {_BEGIN} + toIntervalSecond(s), 1,
    concat('carrier-', leftPad(toString(g), 4, '0')), 'apps', 'all', 1, traced_with
FROM ({_EACH_APP})
"""

_RACES = f"""
INSERT INTO events (connection_id, vantage, trace_id, seq, trace_day, time_us, name, more)
SELECT
    id, 'client', id, 2 * i + of_family, '{DAY}', i,
    if(of_family, 'client:happy_eyeballs_ended', 'client:race_ended'),
    if(
        of_family,
        map(
            'protocol', '"quic"',
            'winner', if({_uniform("family", "g", "s", "i")} < {IPV6}, '"ipv6"', '"ipv4"'),
            'winner_delay_us', if({_uniform("added", "g", "s", "i")} < {ADDED}, '{ADDED_US}', '0')
        ),
        if(
            {_uniform("wins", "g", "s", "i")} < wins,
            map(
                'winner', '"quic"',
                'quic_us', toString(toUInt64({QUIC_US} * slower * exp({SIGMA_QUIC} * {_normal("quic", "g", "s", "i")})))
            ),
            mapUpdate(
                map(
                    'winner', '"tcp"',
                    'tcp_us', toString(toUInt64({TCP_US} * slower * exp({SIGMA_TCP} * {_normal("tcp", "g", "s", "i")})))
                ),
                if(
                    {_uniform("fails", "g", "s", "i")} < {FAILS_OF_LOST},
                    map('quic_error', '"handshake_timeout"'),
                    map()
                )
            )
        )
    )
FROM
(
    SELECT *, arrayJoin(range(1 + toUInt8({RACES_MOST} * {_uniform("races", "g", "s")}))) AS i
    FROM ({_EACH_APP})
)
ARRAY JOIN [false, true] AS of_family
"""

_CLUSTERS = f"""
INSERT INTO request_versions ({_NAMES}, user_hash)
SELECT
    concat('clusters/', toString({{size:UInt32}}), '/', toString(g), '/', toString(u), '/', toString(i)),
    {_row(f"{_BEGIN} + toIntervalSecond((u * {REQUESTS_MOST} + i) % 3600)")},
    'http', 'none', 'none', if(u % 5 = 0, 4, 1), 1,
    toUInt64({MEDIAN_US} * if(u % 5 = 0, {SAMPLED_SLOWER}, 1)
        * exp({SIGMA_USER} * {_normal("own", "{size:UInt32}", "g", "u")}
            + {SIGMA_ALONE} * {_normal("each", "{size:UInt32}", "g", "u", "i")})),
    concat('carrier-', leftPad(toString(g), 4, '0')), concat('clusters-', toString({{size:UInt32}})),
    concat('user-', toString(g), '-', toString(u))
FROM
(
    SELECT
        number % {{groups:UInt32}} AS g,
        intDiv(number, {{groups:UInt32}}) AS u,
        arrayJoin(range(1 + toUInt8({REQUESTS_MOST} * {_uniform("many", "{size:UInt32}", "g", "u")}))) AS i
    FROM numbers({{groups:UInt32}} * {{size:UInt32}})
)
"""
