-- One row is five minutes in which a request of those in hand begins, or began.
SELECT DISTINCT toStartOfFiveMinutes(ifNull(started_at, toDateTime64(0, 6, 'UTC'))) AS bucket_at
FROM
(
    SELECT started_at
    FROM {requests:Identifier}
    UNION ALL
    SELECT started_at
    FROM {old:Identifier}
)
ORDER BY bucket_at
