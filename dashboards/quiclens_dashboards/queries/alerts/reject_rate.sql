-- One row: the share of what came in the window that could not become a row. Files in which nothing was are no loss.
SELECT rejected / greatest(rejected + events, 1) AS rejected_share
FROM
(
    SELECT
        (
            SELECT count()
            FROM rejects FINAL
            WHERE $__timeFilter(ingested_at) AND reason != 'empty_file'
        ) AS rejected,
        (
            SELECT sum(events_seen)
            FROM connections FINAL
            WHERE trace_day >= toDate($__fromTime, 'UTC')
                AND trace_day <= toDate($__toTime, 'UTC')
                AND $__timeFilter(started_at)
        ) AS events
)
LIMIT 1
