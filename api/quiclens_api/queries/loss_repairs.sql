-- One row is one group, one figure of its repairs and one trigger ('' = all of them): how many samples there are, and the
-- sorted samples cut at each rank that is given for this number of samples (0 = none). Without ranks only the numbers.
SELECT
    by_key,
    figure_name AS figure,
    trigger_name AS trigger,
    length(sorted) AS samples,
    arrayMap(
        rank -> if(rank > 0, sorted[rank], NULL),
        {ranks:Array(Array(UInt64))}[indexOf({sizes:Array(UInt64)}, samples)]
    ) AS cuts
FROM
(
    SELECT
        by_key,
        figure.1 AS figure_name,
        figure.2 AS trigger_name,
        arraySort(groupArray(assumeNotNull(figure.3))) AS sorted
    FROM
    (
        SELECT
            connections.by_key AS by_key,
            [
                ('wait_us', '', toFloat64(e.wait_us)),
                ('detection_us', '', toFloat64(e.detection_us)),
                ('count', '', toNullable(toFloat64(e.count))),
                ('detection_rtt', toString(e.trigger), e.detection_us / nullIf(connections.rtt_mean_us, 0))
            ] AS figures
        FROM episodes_now AS e
        INNER JOIN
        (
            SELECT
                connection_id,
                vantage,
                trace_id,
                rtt_mean_us,
                toString(CAST([/* by */] AS Array(Nullable(String)))) AS by_key
            FROM (/* chosen_connections.sql */)
            LIMIT 100000000
        ) AS connections
            ON connections.connection_id = e.connection_id
            AND connections.vantage = e.vantage
            AND connections.trace_id = e.trace_id
        WHERE e.kind = 'repair'
        LIMIT 1000000000
    )
    ARRAY JOIN figures AS figure
    WHERE figure.3 IS NOT NULL
    GROUP BY
        by_key,
        figure_name,
        trigger_name
    LIMIT {limit:UInt32}
)
ORDER BY
    by_key,
    figure,
    trigger
LIMIT {limit:UInt32}
