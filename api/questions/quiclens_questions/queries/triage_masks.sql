-- One row is all requests of a segment of time for which the same conditions hold (one bit each), and the sums of each measure.
SELECT
    mask,
    segment,
    [/* hits */] AS hits,
    [/* of */] AS of,
    [/* squares */] AS squares
FROM
(
    SELECT
        *,
        /* mask */ AS mask
    FROM (/* requests */)
)
GROUP BY
    mask,
    segment
LIMIT 1000000
