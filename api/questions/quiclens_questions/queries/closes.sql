-- One row is one figure of one connection's end, of which every connection is counted: the figure, and the reason, code and
-- side that closed of a way in which connections ended, end the key. The commonest ways have a figure of their own, all
-- others share one: a peer can write any reason into its close. What is an error is told as collectors tell it when they
-- choose whose events to keep: by the code where there is one, else by the reason.
WITH
    (
        SELECT groupArray((reason, code, closed_by))
        FROM
        (
            SELECT
                reason,
                code,
                closed_by,
                count() AS connections
            FROM (/* connection_ends.sql */)
            GROUP BY
                reason,
                code,
                closed_by
            ORDER BY
                connections DESC,
                reason,
                code,
                closed_by
            LIMIT {ways:UInt32}
        )
    ) AS ways
SELECT
    arrayConcat(key_of, [toNullable(figure.1), toNullable(figure.2), toNullable(figure.3), toNullable(figure.4)]) AS key,
    sample_cluster,
    connection_weight AS weight,
    1 AS number,
    toUInt8(figure.5) AS hits
FROM
(
    SELECT
        CAST([/* by */] AS Array(Nullable(String))) AS key_of,
        sample_cluster,
        connection_weight,
        (reason, code, closed_by) AS way,
        lower(reason) AS why,
        arrayConcat(
            [
                ('closes_logged', '', '', '', reason != '' OR code != ''),
                ('idle_timeouts', '', '', '', startsWith(why, 'idle_timeout') OR startsWith(why, 'idle timeout')),
                ('stateless_resets', '', '', '', startsWith(why, 'stateless_reset') OR startsWith(why, 'stateless reset')),
                (
                    'errors', '', '', '',
                    if(
                        code != '',
                        lower(code) NOT IN ('0', '0x0', '256', '0x100', 'no_error', 'h3_no_error'),
                        why != '' AND NOT match(why, '^(graceful|destructor|clean|idle_timeout|idle timeout|no_error|no error)')
                    )
                ),
                ('ended_otherwise', '', '', '', NOT has(ways, way))
            ],
            arrayMap(each -> ('ended_by', each.1, each.2, each.3, each = way), ways)
        ) AS figures
    FROM (/* connection_ends.sql */)
)
ARRAY JOIN figures AS figure
