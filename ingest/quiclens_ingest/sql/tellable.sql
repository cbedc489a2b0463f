-- One row: whether a line that means no stream by ids could mean one by tuple.
SELECT count() > 0
FROM {lines:Identifier}
WHERE client_key IS NOT NULL
    AND start_at IS NOT NULL
    AND method IS NOT NULL
    AND path IS NOT NULL
    AND (time_is = 'start' OR duration_us IS NOT NULL)
    AND (log_id, offset) NOT IN (SELECT log_id, offset FROM {means:Identifier})
LIMIT 1
