-- One row is all requests of a segment of time for which the same conditions hold (one bit each), and how many of them count.
SELECT
    mask,
    segment,
    toFloat64(sumIf(stands_for, is_measured)) AS measured,
    toFloat64(countIf(is_slow)) AS slow,
    toFloat64(countIf(is_very_slow)) AS very_slow,
    toFloat64(countIf(is_extreme)) AS extreme,
    toFloat64(sumIf(stands_for, complete)) AS ended,
    toFloat64(countIf(is_failed)) AS failed
FROM
(
    SELECT
        *,
        /* mask */ AS mask
    FROM (/* triage_requests.sql */)
)
GROUP BY
    mask,
    segment
LIMIT 1000000
