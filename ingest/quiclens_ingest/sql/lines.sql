-- One row is a log line that begins in one of the hours, or that names a connection with a stream in one of them.
-- A tuple reaches 50 ms over an hour's border, and so does the next line's; without the lines there it would seem alone.
-- What came over TCP has no stream, whatever its line names and whoever its client is: here it names nothing.
INSERT INTO {lines:Identifier}
WITH ifNull(protocol IN ('h1', 'h2'), false) AS is_tcp
SELECT
    * EXCEPT (line_day, more)
    REPLACE (
        if(is_tcp, NULL, connection_id) AS connection_id,
        if(is_tcp, NULL, stream_id) AS stream_id,
        if(is_tcp, NULL, client_key) AS client_key
    ),
    if(time_is = 'end', time - toIntervalMicrosecond(ifNull(duration_us, 0)), time) AS start_at,
    if(time_is = 'end', time, time + toIntervalMicrosecond(ifNull(duration_us, 0))) AS end_at
FROM request_lines FINAL
WHERE toStartOfHour(start_at) IN {hours:Array(DateTime('UTC'))}
    OR (
        client_key IS NOT NULL
        AND (
            toStartOfHour(start_at - toIntervalMillisecond(100)) IN {hours:Array(DateTime('UTC'))}
            OR toStartOfHour(start_at + toIntervalMillisecond(100)) IN {hours:Array(DateTime('UTC'))}
        )
    )
    OR connection_id IN
    (
        WITH in_hours AS
        (
            SELECT connection_id
            FROM streams
            WHERE ifNull(toStartOfHour(started_at), toDateTime(0, 'UTC')) IN {hours:Array(DateTime('UTC'))}
        )
        SELECT connection_id
        FROM in_hours
        UNION ALL
        SELECT alias
        FROM connection_aliases
        WHERE connection_id IN (SELECT connection_id FROM in_hours)
    )
