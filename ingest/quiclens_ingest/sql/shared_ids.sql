-- One row: how many ids in hand several connections have. Their traces lie more than a minute apart, where those of one
-- connection overlap.
WITH lasting AS
(
    SELECT
        connection_id,
        (/* start_of_a_trace.sql */) AS from_at,
        (/* end_of_a_trace.sql */) AS to_at
    FROM connections
    WHERE trace_day IN (SELECT day FROM {connections:Identifier})
        AND connection_id IN
        (
            SELECT connection_id
            FROM {connections:Identifier}
            WHERE is_traced
            GROUP BY connection_id
            HAVING max(from_at) > min(to_at) + toIntervalMinute(1)
        )
        AND (trace_id, connection_id) IN (SELECT trace_id, connection_id FROM {traces:Identifier})
    ORDER BY
        version DESC,
        _block_number DESC
    LIMIT 1 BY connection_id, vantage, trace_id
)
SELECT uniqExact(connection_id)
FROM
(
    SELECT
        connection_id,
        from_at > toIntervalMinute(1) + max(to_at) OVER (
            PARTITION BY connection_id
            ORDER BY from_at
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS is_apart
    FROM lasting
    WHERE from_at IS NOT NULL
)
WHERE is_apart
LIMIT 1
