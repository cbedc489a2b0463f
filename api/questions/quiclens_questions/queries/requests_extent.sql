-- The only row: when the oldest and the newest dated request began, whether there are requests at all, and how many of the
-- newest have a place. It costs what the first and the last two days cost, however many there are between: partitions tell
-- which those are. The last one may hold nothing but rows that linking moved to the day before, and so the first.
SELECT
    (
        SELECT min(started_at)
        FROM request_versions
        WHERE is_deleted = 0
            AND day > toDate(0)
            AND day <= (SELECT min(day) FROM request_versions WHERE day > toDate(0)) + 1
    ) AS oldest,
    max(started_at) AS newest,
    (SELECT count() FROM (SELECT 1 FROM request_versions WHERE is_deleted = 0 LIMIT 1)) AS requests,
    countIf(h3_cell IS NOT NULL) AS located
FROM request_versions
WHERE is_deleted = 0
    AND day >= (SELECT max(day) FROM request_versions) - 1
LIMIT 1
