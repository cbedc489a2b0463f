-- One row: of the requests that began since then, how many have a line of an access log, a trace, or both.
SELECT
    count() AS requests,
    countIf(log_id IS NOT NULL) AS lines,
    countIf(log_id IS NOT NULL AND protocol = 'h3') AS h3_lines,
    countIf(log_id IS NOT NULL AND coverage != 'none') AS joined,
    countIf(link = 'ambiguous') AS ambiguous,
    countIf(coverage != 'none') AS traced
FROM requests
WHERE started_hour >= toStartOfHour({since:DateTime64(6, 'UTC')})
    AND started_at >= {since:DateTime64(6, 'UTC')}
LIMIT 1
