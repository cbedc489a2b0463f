-- One row is a run of seq of one trace that is missing, or that stands twice.
WITH
    stored AS
    (
        SELECT
            toInt64(seq) AS seq,
            uniqExact(trace_day) AS days
        FROM events
        WHERE connection_id = {connection_id:String} AND vantage = {vantage:String} AND trace_id = {trace_id:String}
        GROUP BY seq
    ),
    known AS
    (
        SELECT seq
        FROM stored
        UNION DISTINCT
        SELECT toInt64(arrayJoin(range(assumeNotNull(rejects.seq), ifNull(rejects.seq_last, assumeNotNull(rejects.seq)) + 1))) AS seq
        FROM rejects
        WHERE trace_id = {trace_id:String} AND rejects.seq IS NOT NULL
        UNION DISTINCT
        SELECT toInt64({records:UInt64}) AS seq
    )
SELECT
    problem,
    first_seq,
    last_seq
FROM
(
    SELECT
        'missing' AS problem,
        lagInFrame(seq, 1, toInt64(-1)) OVER (ORDER BY seq ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) + 1 AS first_seq,
        seq - 1 AS last_seq
    FROM known
    WHERE seq <= {records:UInt64}
    UNION ALL
    SELECT
        'doubled' AS problem,
        min(seq) AS first_seq,
        max(seq) AS last_seq
    FROM
    (
        SELECT
            seq,
            seq - row_number() OVER (ORDER BY seq) AS run
        FROM stored
        WHERE days > 1
    )
    GROUP BY run
)
WHERE first_seq <= last_seq
ORDER BY
    problem DESC,
    first_seq
LIMIT {limit:UInt32}
