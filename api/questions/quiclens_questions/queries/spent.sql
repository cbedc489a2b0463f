-- One row: the requests of a group, how many are traced, and what all of their time was spent on, in us by
-- cause; a traced request counts for as many as its parts speak for.
SELECT
    count() AS requests,
    countIf(coverage != 'none') AS traced,
    arrayMap(us -> toUInt64(round(us)), sumForEach(arrayMap(us -> us * trace_weight, [/* causes */]))) AS cause_us
FROM requests
WHERE (/* in_window.sql */)
/* conditions */
LIMIT 1
