-- One row is a log line that may mean a connection of this step, at the same time where both are dated. It is looked for
-- from an hour before the connection until an hour behind it; where a connection is undated, at any time.
INSERT INTO {lines:Identifier}
WITH
    (
        SELECT
            (
                min(from_at) - toIntervalMinute(61),
                max(to_at) + toIntervalMinute(61),
                max(isNull(from_at))
            )
        FROM {names:Identifier}
        WHERE step = {step:UInt8}
    ) AS within,
    candidates AS
    (
        SELECT
            * REPLACE ((/* duration_of_a_line.sql */) AS duration_us),
            (/* start_of_a_line.sql */) AS start_at,
            (/* end_of_a_line.sql */) AS end_at
        FROM request_lines
        WHERE (
                within.3
                OR (
                    line_day BETWEEN toDate(ifNull(within.1, toDateTime64(0, 6, 'UTC'))) AND toDate(ifNull(within.2, toDateTime64(0, 6, 'UTC')))
                    AND time BETWEEN ifNull(within.1, toDateTime64(0, 6, 'UTC')) AND ifNull(within.2, toDateTime64(0, 6, 'UTC'))
                )
            )
            AND NOT ifNull(protocol IN ('h1', 'h2'), false)
            AND (
                connection_id IN (SELECT name FROM {names:Identifier} WHERE step = {step:UInt8} AND NOT is_key)
                OR client_key IN (SELECT name FROM {names:Identifier} WHERE step = {step:UInt8} AND is_key)
            )
            AND (log_id, offset) NOT IN (SELECT log_id, offset FROM {lines:Identifier})
        ORDER BY _block_number DESC
        LIMIT 1 BY log_id, offset
    )
SELECT
    * EXCEPT (line_day, more),
    {step:UInt8} + 1 AS step
FROM candidates
WHERE (log_id, offset) IN
(
    SELECT
        named.log_id,
        named.offset
    FROM
    (
        SELECT
            log_id,
            offset,
            start_at,
            end_at,
            arrayJoin(
                (/* names_of_a_line.sql */)
            ) AS name
        FROM candidates
    ) AS named
    INNER JOIN (SELECT * FROM {names:Identifier} WHERE step = {step:UInt8}) AS names
        ON names.is_key = named.name.1
        AND names.name = named.name.2
    WHERE isNull(names.from_at)
        OR (
            named.end_at >= names.from_at - toIntervalMinute(1)
            AND named.start_at <= names.to_at + toIntervalMinute(1)
        )
)
