-- One row is one group of samples: those at the ranks given for it, nothing where a rank is 0.
SELECT
    key_text,
    arrayMap(rank -> if(rank > 0, sorted[rank], NULL), {ranks:Array(Array(UInt64))}[indexOf({keys:Array(String)}, key_text)]) AS cuts
FROM
(
    SELECT
        toString(key) AS key_text,
        arraySort(groupArray(value)) AS sorted
    FROM
    (
        /* samples */
    )
    WHERE has({keys:Array(String)}, key_text)
    GROUP BY key_text
    LIMIT {limit:UInt32}
)
LIMIT {limit:UInt32}
