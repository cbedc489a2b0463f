-- One row is a request that stands in the store and may have to change: one of a connection or a line in hand. It stands in
-- a minute in which a stream or a line of those begins, or began when it was linked, or is undated.
INSERT INTO {old:Identifier}
WITH places AS
(
    SELECT ifNull(toStartOfMinute(started_at), toDateTime(0, 'UTC')) AS minute
    FROM streams
    WHERE trace_day IN (SELECT day FROM {connections:Identifier})
        AND connection_id IN (SELECT connection_id FROM {connections:Identifier})
    UNION DISTINCT
    SELECT ifNull(toStartOfMinute(start_at), toDateTime(0, 'UTC')) AS minute
    FROM {lines:Identifier}
    UNION DISTINCT
    SELECT started_minute AS minute
    FROM
    (
        SELECT
            connection_id,
            day,
            started_minute,
            count()
        FROM request_versions
        WHERE connection_id IN (SELECT connection_id FROM {connections:Identifier})
            AND day IN (SELECT arrayJoin([day - 1, day, day + 1]) FROM {connections:Identifier})
        GROUP BY
            connection_id,
            day,
            started_minute
    )
    UNION DISTINCT
    SELECT started_hour + 60 * arrayJoin(range(60)) AS minute
    FROM {again:Identifier}
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
