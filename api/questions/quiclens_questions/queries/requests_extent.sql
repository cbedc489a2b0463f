-- The only row: when the oldest and the newest dated request began, whether there are requests at all, and how many of the
-- newest day have a place. It costs what two days cost, however many there are: partitions tell which. A version that
-- linking replaced may be the oldest or the newest; its successor began then too.
SELECT
    (
        SELECT min(started_at)
        FROM request_versions
        WHERE is_deleted = 0
            AND day = (SELECT min(day) FROM request_versions WHERE day > toDate(0))
    ) AS oldest,
    (
        SELECT max(started_at)
        FROM request_versions
        WHERE is_deleted = 0
            AND day = (SELECT max(day) FROM request_versions)
    ) AS newest,
    (SELECT count() FROM (SELECT 1 FROM request_versions WHERE is_deleted = 0 LIMIT 1)) AS requests,
    (
        SELECT countIf(h3_cell IS NOT NULL)
        FROM request_versions
        WHERE is_deleted = 0
            AND day = (SELECT max(day) FROM request_versions)
    ) AS located
LIMIT 1
