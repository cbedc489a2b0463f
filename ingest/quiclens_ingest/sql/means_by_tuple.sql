-- One row is a line without a stream by ids, and a stream that it may mean by tuple (2): client_key, method and path, a start
-- at most 50 ms away, the same server where both are known; ids that the line has must agree. A stream that several lines
-- may mean by tuple is nobody's (`is_shared`).
INSERT INTO {means:Identifier}
WITH
    keys AS
    (
        SELECT DISTINCT
            alias AS client_key,
            connection_id
        FROM {aliases:Identifier}
        WHERE role = 'client_key' AND alias IN (SELECT client_key FROM {lines:Identifier})
    ),
    -- Lines that can be told by tuple: a logged end without a duration gives no start.
    -- Starts that are at most 50 ms apart lie in the same 50 ms or in neighbouring ones.
    told AS
    (
        SELECT
            lines.log_id AS log_id,
            lines.offset AS offset,
            lines.start_at AS start_at,
            lines.server AS server,
            lines.stream_id AS stream_id,
            lines.connection_id AS named_id,
            assumeNotNull(lines.method) AS method,
            assumeNotNull(lines.path) AS path,
            keys.connection_id AS connection_id,
            arrayJoin([-1, 0, 1]) + intDiv(toUnixTimestamp64Micro(lines.start_at), 50000) AS slot
        FROM {lines:Identifier} AS lines
        INNER JOIN keys ON keys.client_key = lines.client_key
        WHERE lines.start_at IS NOT NULL
            AND lines.method IS NOT NULL
            AND lines.path IS NOT NULL
            AND (lines.time_is = 'start' OR lines.duration_us IS NOT NULL)
            AND (log_id, offset) NOT IN (SELECT log_id, offset FROM {means:Identifier})
    )
SELECT
    log_id,
    offset,
    start_at,
    rank,
    connection_id,
    stream_id,
    count() OVER (PARTITION BY connection_id, stream_id) > 1 AS is_shared
FROM
(
    SELECT DISTINCT
        told.log_id AS log_id,
        told.offset AS offset,
        told.start_at AS start_at,
        streams.connection_id AS connection_id,
        streams.stream_id AS stream_id,
        2 AS rank
    FROM told
    INNER JOIN
    (
        SELECT
            connection_id,
            stream_id,
            server,
            assumeNotNull(method) AS method,
            assumeNotNull(path) AS path,
            assumeNotNull(started_at) AS started_at,
            intDiv(toUnixTimestamp64Micro(assumeNotNull(started_at)), 50000) AS slot
        FROM {streams:Identifier}
        WHERE started_at IS NOT NULL AND method IS NOT NULL AND path IS NOT NULL
    ) AS streams
        ON streams.connection_id = told.connection_id
        AND streams.method = told.method
        AND streams.path = told.path
        AND streams.slot = told.slot
    WHERE abs(toUnixTimestamp64Micro(streams.started_at) - toUnixTimestamp64Micro(told.start_at)) <= 50000
        AND (isNull(told.server) OR isNull(streams.server) OR told.server = streams.server)
        AND (isNull(told.stream_id) OR told.stream_id = streams.stream_id)
        AND (
            isNull(told.named_id)
            OR told.named_id = streams.connection_id
            OR (assumeNotNull(told.named_id), streams.connection_id) IN (/* aliases_of_lines.sql */)
        )
)
