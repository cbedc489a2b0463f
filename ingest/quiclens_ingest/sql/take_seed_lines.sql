-- One row is a log line from which linking starts now; it may be gone, and have a request yet.
INSERT INTO {line_ids:Identifier}
SELECT DISTINCT
    log_id,
    offset,
    day
FROM {seed_lines:Identifier}
WHERE (log_id, offset) NOT IN (SELECT log_id, offset FROM {done_lines:Identifier})
ORDER BY
    day,
    log_id,
    offset
LIMIT {limit:UInt64}
