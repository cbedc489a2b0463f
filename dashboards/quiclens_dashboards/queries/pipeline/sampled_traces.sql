-- One row is one of 200 traces of the window, the same ones each time, whose events were kept: an audit of all would
-- read every event. Its records, and how many of them are missing or stand twice, as `quiclens audit`. Written into others.
WITH sampled AS
(
    SELECT
        connection_id,
        vantage,
        trace_id,
        server,
        intDiv(bitAnd(version, 1099511627775), 3) AS records
    FROM connections FINAL
    WHERE trace_day >= toDate($__fromTime, 'UTC')
        AND trace_day <= toDate($__toTime, 'UTC')
        AND $__timeFilter(started_at)
        AND events_kept = 'all'
        AND trace_day NOT IN (SELECT day FROM dropped_days WHERE table_name = 'events')
    ORDER BY cityHash64(trace_id)
    LIMIT 200
)
SELECT
    c.connection_id AS connection_id,
    c.vantage AS vantage,
    c.trace_id AS trace_id,
    c.server AS server,
    c.records AS records,
    records - bitmapCardinality(bitmapSubsetInRange(bitmapOr(e.seqs, r.seqs), 0, records)) AS missing,
    e.stored - bitmapCardinality(e.seqs) AS doubled
FROM sampled AS c
LEFT JOIN
(
    SELECT
        connection_id,
        vantage,
        trace_id,
        sum(stored_that_day) AS stored,
        groupBitmapOrState(seqs_of_day) AS seqs
    FROM
    (
        SELECT
            connection_id,
            vantage,
            trace_id,
            trace_day,
            groupBitmap(seq) AS stored_that_day,
            groupBitmapState(seq) AS seqs_of_day
        FROM events
        WHERE connection_id IN (SELECT connection_id FROM sampled)
            AND trace_day >= toDate($__fromTime, 'UTC')
            AND trace_day <= toDate($__toTime, 'UTC')
        GROUP BY
            connection_id,
            vantage,
            trace_id,
            trace_day
    )
    GROUP BY
        connection_id,
        vantage,
        trace_id
) AS e ON e.connection_id = c.connection_id AND e.vantage = c.vantage AND e.trace_id = c.trace_id
LEFT JOIN
(
    SELECT
        trace_id,
        groupBitmapState(arrayJoin(range(assumeNotNull(seq), ifNull(seq_last, assumeNotNull(seq)) + 1))) AS seqs
    FROM rejects
    WHERE trace_id IN (SELECT trace_id FROM sampled) AND seq IS NOT NULL
    GROUP BY trace_id
) AS r ON r.trace_id = c.trace_id
