-- One row is a line and the stream it means, or a line that may mean several (`is_ambiguous`).
-- A line means a stream by its connection's id (rank 0), or else by an alias of at least 4 bytes (1), and its stream id:
-- on the same server where both are known, and at the same time where both are dated. A minute is allowed for clocks that
-- differ. Else it means a stream by tuple (2): client_key, method and path, a start at most 50 ms away, the same server
-- where both are known; ids that the line has must agree. A stream that several lines may mean by tuple is nobody's.
INSERT INTO {pairs:Identifier}
WITH
    candidates AS
    (
        SELECT
            lines.log_id AS log_id,
            lines.offset AS offset,
            lines.start_at AS start_at,
            lines.end_at AS end_at,
            lines.server AS server,
            lines.stream_id AS stream_id,
            assumeNotNull(lines.connection_id) AS connection_id,
            0 AS rank
        FROM {lines:Identifier} AS lines
        WHERE lines.connection_id IS NOT NULL AND lines.stream_id IS NOT NULL
        UNION DISTINCT
        SELECT
            lines.log_id AS log_id,
            lines.offset AS offset,
            lines.start_at AS start_at,
            lines.end_at AS end_at,
            lines.server AS server,
            lines.stream_id AS stream_id,
            aliases.connection_id AS connection_id,
            1 AS rank
        FROM {lines:Identifier} AS lines
        INNER JOIN
        (
            SELECT
                alias,
                connection_id
            FROM {aliases:Identifier}
            WHERE length(alias) >= 8 AND alias IN (SELECT connection_id FROM {lines:Identifier})
        ) AS aliases ON aliases.alias = lines.connection_id
        WHERE lines.stream_id IS NOT NULL
    ),
    by_id AS
    (
        SELECT
            candidates.log_id AS log_id,
            candidates.offset AS offset,
            candidates.start_at AS start_at,
            candidates.connection_id AS connection_id,
            streams.stream_id AS stream_id,
            candidates.rank AS rank
        FROM candidates
        INNER JOIN {streams:Identifier} AS streams
            ON streams.connection_id = candidates.connection_id
            AND streams.stream_id = candidates.stream_id
        WHERE (isNull(candidates.server) OR isNull(streams.server) OR candidates.server = streams.server)
            AND (
                isNull(streams.connection_started_at)
                OR (
                    candidates.end_at >= streams.connection_started_at - toIntervalMinute(1)
                    AND candidates.start_at <= streams.connection_started_at
                        + toIntervalMicrosecond(streams.connection_duration_us) + toIntervalMinute(1)
                )
            )
    ),
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
        WHERE lines.method IS NOT NULL
            AND lines.path IS NOT NULL
            AND (lines.time_is = 'start' OR lines.duration_us IS NOT NULL)
            AND (log_id, offset) NOT IN (SELECT log_id, offset FROM by_id)
    ),
    by_tuple AS
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
                OR (assumeNotNull(told.named_id), streams.connection_id) IN
                (
                    SELECT
                        alias,
                        connection_id
                    FROM {aliases:Identifier}
                    WHERE length(alias) >= 8 AND alias IN (SELECT connection_id FROM {lines:Identifier})
                )
            )
    ),
    best AS
    (
        SELECT
            *,
            false AS is_shared
        FROM by_id
        QUALIFY rank = min(rank) OVER (PARTITION BY log_id, offset)
        UNION ALL
        SELECT
            *,
            count() OVER (PARTITION BY connection_id, stream_id) > 1 AS is_shared
        FROM by_tuple
    )
SELECT
    log_id,
    offset,
    any(best.start_at) AS start_at,
    any(best.rank) AS rank,
    min(best.connection_id) AS connection_id,
    any(best.stream_id) AS stream_id,
    uniqExact(best.connection_id, best.stream_id) > 1 OR max(best.is_shared) AS is_ambiguous
FROM best
GROUP BY
    log_id,
    offset
