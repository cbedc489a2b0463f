-- One row is one request that shows a finding: those that count, which its cause cost most; where no
-- cause is known, the slowest.
SELECT
    request_id,
    started_at,
    duration_us,
    top_cause
FROM (/* requests */)
WHERE started_at >= {began:DateTime64(6, 'UTC')}
    AND (/* holds */)
ORDER BY
    /* counts */ DESC,
    /* cause */ DESC,
    duration_us DESC NULLS LAST,
    request_id
LIMIT {limit:UInt32}
