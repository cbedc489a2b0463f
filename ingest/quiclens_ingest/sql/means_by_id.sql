-- One row is a line and a stream that it may mean by its connection's id (rank 0), or else by an alias of at least 4 bytes
-- (1), and its stream id: on the same server where both are known, and at the same time where both are dated. A minute is
-- allowed for clocks that differ. An alias that is crowded is not looked at more closely: its lines may mean several
-- streams (`is_shared`).
INSERT INTO {means:Identifier}
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
        INNER JOIN (/* aliases_of_lines.sql */) AS aliases ON aliases.alias = lines.connection_id
        WHERE lines.stream_id IS NOT NULL AND aliases.alias NOT IN (SELECT alias FROM {crowded:Identifier})
    )
SELECT
    log_id,
    offset,
    start_at,
    rank,
    connection_id,
    stream_id,
    is_shared
FROM
(
    SELECT
        candidates.log_id AS log_id,
        candidates.offset AS offset,
        candidates.start_at AS start_at,
        candidates.connection_id AS connection_id,
        streams.stream_id AS stream_id,
        candidates.rank AS rank,
        false AS is_shared
    FROM candidates
    INNER JOIN {streams:Identifier} AS streams
        ON streams.connection_id = candidates.connection_id
        AND streams.stream_id = candidates.stream_id
    WHERE (isNull(candidates.server) OR isNull(streams.server) OR candidates.server = streams.server)
        AND (
            isNull(streams.connection_started_at)
            OR (
                candidates.end_at >= streams.connection_started_at - toIntervalMinute(1)
                AND candidates.start_at <= streams.connection_ended_at + toIntervalMinute(1)
            )
        )
    UNION ALL
    SELECT
        lines.log_id AS log_id,
        lines.offset AS offset,
        lines.start_at AS start_at,
        crowded.connection_id AS connection_id,
        assumeNotNull(lines.stream_id) AS stream_id,
        1 AS rank,
        true AS is_shared
    FROM {lines:Identifier} AS lines
    INNER JOIN {crowded:Identifier} AS crowded ON crowded.alias = lines.connection_id
    WHERE lines.stream_id IS NOT NULL
)
QUALIFY rank = min(rank) OVER (PARTITION BY log_id, offset)
