-- One row is one day of the window: events of its traces that should be stored, and rows that are (more until they
-- merge). The second is counted by the partition, no event is read for it.
SELECT
    day,
    sum(traces) AS traces,
    sum(events_seen) AS events_seen,
    sum(events_expected) AS events_expected,
    sum(events_stored) AS events_stored,
    if(events_expected > events_stored, events_expected - events_stored, 0) AS events_missing
FROM
(
    SELECT
        trace_day AS day,
        count() AS traces,
        sum(c.events_seen) AS events_seen,
        sumIf(c.events_seen, events_kept = 'all') AS events_expected,
        0 AS events_stored
    FROM connections AS c FINAL
    WHERE trace_day >= toDate($__fromTime, 'UTC') AND trace_day <= toDate($__toTime, 'UTC')
    GROUP BY day
    UNION ALL
    SELECT
        trace_day AS day,
        0 AS traces,
        0 AS events_seen,
        0 AS events_expected,
        count() AS events_stored
    FROM events
    WHERE trace_day >= toDate($__fromTime, 'UTC') AND trace_day <= toDate($__toTime, 'UTC')
    GROUP BY day
)
GROUP BY day
ORDER BY day DESC
LIMIT 400
