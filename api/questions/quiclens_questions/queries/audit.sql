-- One row is a trace whose events were kept: how many records it has, how many of them are missing, and how many stand twice.
-- A record that became no event is in `rejects`, alone or in a run from seq to seq_last. Traces of days whose events
-- retention dropped are left out. A seq stands twice where merging cannot find it: on two days.
SELECT
    c.connection_id AS connection_id,
    c.vantage AS vantage,
    c.trace_id AS trace_id,
    c.server AS server,
    intDiv(bitAnd(c.version, 1099511627775), 3) AS records,
    c.events_seen AS events_seen,
    records - bitmapCardinality(bitmapSubsetInRange(bitmapOr(e.seqs, r.seqs), 0, records)) AS missing,
    e.stored - bitmapCardinality(e.seqs) AS doubled
FROM connections_now AS c
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
    WHERE trace_id != '' AND seq IS NOT NULL
    GROUP BY trace_id
) AS r ON r.trace_id = c.trace_id
WHERE c.events_kept = 'all' AND c.trace_day NOT IN (SELECT day FROM dropped_days WHERE table_name = 'events')
ORDER BY
    missing DESC,
    doubled DESC,
    connection_id,
    vantage,
    trace_id
