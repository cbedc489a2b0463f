-- One row is a request that stands in the store and may have to change: one of a connection or a line in hand. It stands in
-- a minute in which a stream or a line of those began, in any version, or is undated.
INSERT INTO {old:Identifier}
WITH places AS
(
    SELECT ifNull(toStartOfMinute(started_at), toDateTime(0, 'UTC')) AS minute
    FROM streams
    WHERE trace_day IN (SELECT day FROM {connections:Identifier})
        AND connection_id IN (SELECT connection_id FROM {connections:Identifier})
    UNION DISTINCT
    SELECT toStartOfMinute(start_at) AS minute
    FROM {lines:Identifier}
    UNION DISTINCT
    SELECT started_minute AS minute
    FROM {minutes:Identifier}
    UNION DISTINCT
    SELECT toDateTime(0, 'UTC') AS minute
)
SELECT * EXCEPT (version, is_deleted)
FROM request_versions FINAL
WHERE started_hour IN (SELECT toStartOfHour(minute) FROM places)
    AND (started_hour, started_minute) IN
    (
        SELECT
            toStartOfHour(minute),
            minute
        FROM places
    )
    AND (
        connection_id IN (SELECT connection_id FROM {connections:Identifier})
        OR (log_id, offset) IN
        (
            SELECT
                log_id,
                offset
            FROM {lines:Identifier}
            UNION ALL
            SELECT
                log_id,
                offset
            FROM {line_ids:Identifier}
        )
    )
SETTINGS do_not_merge_across_partitions_select_final = 1
