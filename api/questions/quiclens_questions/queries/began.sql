-- One row: how many requests began in a stretch of time, and how many groups they are of.
SELECT
    count() AS requests,
    uniqExact(tuple(1/* by keys */)) AS groups
FROM requests
WHERE (/* began_within.sql */)
/* conditions */
LIMIT 1
