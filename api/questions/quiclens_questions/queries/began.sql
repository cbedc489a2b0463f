-- One row: how many requests began in a stretch of time.
SELECT count() AS requests
FROM requests
WHERE (/* began_within.sql */)
/* conditions */
LIMIT 1
