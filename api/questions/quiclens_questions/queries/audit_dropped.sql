-- One row: how many traces cannot be audited, since retention dropped their day's events.
SELECT count() AS traces
FROM connections_now AS c
WHERE c.events_kept = 'dropped'
    OR c.events_kept = 'all' AND c.trace_day IN (SELECT day FROM dropped_days WHERE table_name = 'events')
LIMIT 1
