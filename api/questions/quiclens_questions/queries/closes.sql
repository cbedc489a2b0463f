-- One row is one figure of one connection's end, of which every connection is counted; its place among the figures ends the key.
-- First those of all ends, then that of ways which are too rare for a figure of their own, then the ways that were given.
-- What is an error is told as collectors tell it when they choose whose events to keep: by the code where there is one, else
-- by the reason.
SELECT
    arrayConcat(key_of, [toNullable(toString(place))]) AS key,
    sample_cluster,
    connection_weight AS weight,
    1 AS number,
    toUInt8(hit) AS hits
FROM
(
    SELECT
        CAST([/* by */] AS Array(Nullable(String))) AS key_of,
        sample_cluster,
        connection_weight,
        lower(reason) AS why,
        cityHash64(reason, code, closed_by) AS own_way,
        arrayMap(way -> way = own_way, {ways:Array(UInt64)}) AS ways,
        arrayConcat(
            [
                reason != '' OR code != '',
                startsWith(why, 'idle_timeout') OR startsWith(why, 'idle timeout'),
                startsWith(why, 'stateless_reset') OR startsWith(why, 'stateless reset'),
                (/* closed_with_error.sql */),
                NOT has({ways:Array(UInt64)}, own_way)
            ],
            ways
        ) AS figures
    FROM (/* connection_ends.sql */)
)
ARRAY JOIN
    figures AS hit,
    arrayEnumerate(figures) AS place
