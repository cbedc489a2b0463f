-- One row is one value of the dimension and one figure of its repairs: its sorted samples cut at each quantile, and at
-- the order statistics that bound it with 95 % confidence (null where there are too few to bound it).
SELECT
    by_value,
    figure_name AS figure,
    length(sorted) AS samples,
    arrayMap(
        (quantile, low, high) ->
        (
            sorted[toUInt64(greatest(1, ceil(quantile * samples)))],
            if(low >= 1, sorted[toUInt64(greatest(1, low))], NULL),
            if(high <= samples, sorted[toUInt64(high)], NULL)
        ),
        {quantiles:Array(Float64)},
        arrayMap(q -> floor(q * samples - 1.96 * sqrt(q * (1 - q) * samples)), {quantiles:Array(Float64)}),
        arrayMap(q -> ceil(q * samples + 1.96 * sqrt(q * (1 - q) * samples)) + 1, {quantiles:Array(Float64)})
    ) AS cuts
FROM
(
    SELECT
        by_value,
        figure.1 AS figure_name,
        arraySort(groupArray(assumeNotNull(figure.2))) AS sorted
    FROM
    (
        SELECT
            connections.by_value AS by_value,
            [
                ('wait_us', e.wait_us),
                ('detection_us', e.detection_us),
                ('count', toNullable(toUInt64(e.count)))
            ] AS figures
        FROM episodes_now AS e
        INNER JOIN
        (
            SELECT
                connection_id,
                vantage,
                trace_id,
                toString({by:Identifier}) AS by_value
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
    WHERE figure.2 IS NOT NULL
    GROUP BY
        by_value,
        figure_name
    LIMIT {limit:UInt32}
)
ORDER BY
    by_value,
    figure
LIMIT {limit:UInt32}
