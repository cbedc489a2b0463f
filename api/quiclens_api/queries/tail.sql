-- One row is one group of requests: its measured durations (as in tail_groups), sorted and cut at the ranks given for it;
-- and the same of what they would have been without a cause, by its predicted saving, and by the least and the most that
-- the saving may have been.
SELECT
    by_key,
    arrayMap(rank -> if(rank > 0, measured[rank], NULL), ranks) AS cuts,
    arrayMap(rank -> if(rank > 0, predicted[rank], NULL), ranks) AS without_cuts,
    arrayMap(rank -> if(rank > 0, predicted_low[rank], NULL), ranks) AS without_low_cuts,
    arrayMap(rank -> if(rank > 0, predicted_high[rank], NULL), ranks) AS without_high_cuts
FROM
(
    SELECT
        by_key,
        {ranks:Array(Array(UInt64))}[indexOf({keys:Array(String)}, by_key)] AS ranks,
        arraySort(groupArray(duration)) AS measured,
        arraySort(groupArray(duration - least(duration, saving))) AS predicted,
        arraySort(groupArray(duration - least(duration, toUInt64(round(saving * {ratio_high:Float64}))))) AS predicted_low,
        arraySort(groupArray(duration - least(duration, toUInt64(round(saving * {ratio_low:Float64}))))) AS predicted_high
    FROM
    (
        SELECT
            toString(CAST([/* by */] AS Array(Nullable(String)))) AS by_key,
            assumeNotNull(duration_us) AS duration,
            saves[{without:String}] AS saving
        FROM requests
        WHERE complete AND duration_us IS NOT NULL
            AND ({without:String} = '' OR (coverage != 'none' AND NOT has(cannot_show, {without:String})))
            AND started_hour >= toStartOfHour(ifNull({since:Nullable(DateTime64(6, 'UTC'))}, toDateTime64(0, 6, 'UTC')))
            AND ({until:Nullable(DateTime64(6, 'UTC'))} IS NULL OR started_hour <= toStartOfHour(assumeNotNull({until:Nullable(DateTime64(6, 'UTC'))})))
            AND ({since:Nullable(DateTime64(6, 'UTC'))} IS NULL OR started_at >= {since:Nullable(DateTime64(6, 'UTC'))})
            AND ({until:Nullable(DateTime64(6, 'UTC'))} IS NULL OR started_at IS NULL OR started_at < {until:Nullable(DateTime64(6, 'UTC'))})
        /* conditions */
        LIMIT 1000000000000
    )
    GROUP BY by_key
    LIMIT {limit:UInt32}
)
WHERE notEmpty(ranks)
LIMIT {limit:UInt32}
