-- One row is a log line that was read again with another time, and when it was stored last.
INSERT INTO {outdone:Identifier}
SELECT
    log_id,
    offset,
    max(stored_at) AS last_stored_at
FROM request_lines
WHERE line_day IN ((/* days_of_lines.sql */)) AND (log_id, offset) IN (SELECT log_id, offset FROM {line_ids:Identifier})
GROUP BY
    log_id,
    offset
HAVING uniqExact(line_day, time) > 1
