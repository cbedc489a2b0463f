-- One row is one group: how many connections it has, how many of them have their events, how many have them or not by
-- chance alone, whether the server traced all of its connections, and how many could not have their events: no rule took
-- them and no share is drawn from them, what was to be kept was gone, or it was dropped since. In every row how many groups
-- there are, and how many connections of all of them have their events.
SELECT
    CAST([/* by */] AS Array(Nullable(String))) AS by_values,
    toString(by_values) AS by_key,
    count() AS connections,
    countIf(events_kept = 'all') AS kept,
    countIf(probability > 0 AND probability < 1 AND events_kept != 'dropped') AS chances,
    min(trace_probability) = 1 AS is_all,
    countIf(probability = 0 OR events_kept = 'dropped' OR (probability = 1 AND events_kept = 'none')) AS out_of_reach,
    count() OVER () AS groups,
    sum(kept) OVER () AS kept_of_all
FROM
(
    SELECT
        *,
        event_probability * trace_probability AS probability
    FROM (/* chosen_connections.sql */)
    WHERE packets > 0
)
GROUP BY by_values
ORDER BY
    connections DESC,
    by_key
LIMIT {limit:UInt32}
