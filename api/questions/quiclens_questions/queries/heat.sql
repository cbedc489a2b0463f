-- One row is one cell of a heat map: a stretch of time, a band of durations (each a sixth of a factor of ten wide), and the
-- requests in it.
SELECT
    toUnixTimestamp(toStartOfInterval(started_at, toIntervalSecond({step_s:UInt32}))) AS started_s,
    toInt32(floor(6 * log10(greatest(1, duration_us)))) AS band,
    count() AS requests,
    countIf(coverage != 'none') AS traced,
    round(sum(weight), 6) AS weight
FROM requests
WHERE (/* began_within.sql */)
    AND duration_us IS NOT NULL
/* conditions */
GROUP BY
    started_s,
    band
ORDER BY
    started_s,
    band
LIMIT {limit:UInt32}
