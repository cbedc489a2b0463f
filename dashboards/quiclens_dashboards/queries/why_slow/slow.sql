-- One row: how many requests are slow, from which duration on, and how many of them have a trace.
SELECT
    count() AS requests,
    countIf(coverage != 'none') AS traced,
    traced / nullIf(requests, 0) AS traced_share,
    if(requests > 0, min(duration_us), NULL) AS slow_from_us
FROM (/* why_slow/slow_requests.sql */)
LIMIT 1
