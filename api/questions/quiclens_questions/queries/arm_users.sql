-- One row is one arm of a group, the last of the key: its known users; and, with a user of several arms as a part of one in
-- each, so that sums over arms count each once, how many users that is, and how many of several arms.
SELECT
    arrayPushBack(by_values, arm) AS key,
    count() AS users,
    sum(1 / length(arms)) AS parts,
    sumIf(1 / length(arms), length(arms) > 1) AS crossed
FROM
(
    SELECT
        arrayPopBack(each_by) AS by_values,
        user_hash,
        groupUniqArray(each_by[-1]) AS arms
    FROM
    (
        SELECT
            CAST([/* by */] AS Array(Nullable(String))) AS each_by,
            user_hash
        FROM requests
        WHERE (/* in_window.sql */)
        /* conditions */
    )
    WHERE each_by[-1] IS NOT NULL AND user_hash IS NOT NULL
    GROUP BY
        by_values,
        user_hash
)
ARRAY JOIN arms AS arm
GROUP BY
    by_values,
    arm
ORDER BY key
